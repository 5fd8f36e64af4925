"""Pictures of explanations, drawn with Matplotlib. Each plot takes `ax=None`, returns its axes and never calls show."""

try:
    import matplotlib as _matplotlib  # noqa: F401  # so that its absence is reported first
except ModuleNotFoundError as _cause:
    raise ImportError(
        f"expected matplotlib to be installed for gplens.plots, got no module {_cause.name}; install the extra "
        "`plots`: pip install '.[plots]' in a clone."
    ) from _cause

from gplens.plots.automatic import draw
from gplens.plots.bar import bar
from gplens.plots.beeswarm import beeswarm
from gplens.plots.image import image
from gplens.plots.path import path
from gplens.plots.removal import ablation
from gplens.plots.scatter import scatter
from gplens.plots.uncertainty_plot import uncertainty
from gplens.plots.waterfall import waterfall

__all__ = ["ablation", "bar", "beeswarm", "draw", "image", "path", "scatter", "uncertainty", "waterfall"]
