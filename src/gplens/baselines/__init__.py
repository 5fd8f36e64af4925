"""What a prediction is explained relative to."""

from gplens.baselines.baseline import Baseline, Inputs
from gplens.baselines.chosen import Incumbent, Medoid, Nearest
from gplens.baselines.given import Fixed, Zeros, as_baseline
from gplens.baselines.tabular import Mean, Rows, Sample

__all__ = [
    "Baseline",
    "Fixed",
    "Incumbent",
    "Inputs",
    "Mean",
    "Medoid",
    "Nearest",
    "Rows",
    "Sample",
    "Zeros",
    "as_baseline",
]
