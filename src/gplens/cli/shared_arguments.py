"""Arguments and options that several commands have, with the words that stand for them in `--help`."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

BASELINE = "mean, zeros, background, or row:NUMBER for a row of DATA, the first being 0."
FLAG = ""
"""What stands for the value of an option that has none."""


class LikelihoodName(StrEnum):
    """The likelihoods of `gplens fit`."""

    gaussian = "gaussian"
    counts = "counts"
    classes = "classes"


class PlotKind(StrEnum):
    """The plots of gplens.plots that need no picture of pixels."""

    auto = "auto"
    waterfall = "waterfall"
    bar = "bar"
    beeswarm = "beeswarm"
    scatter = "scatter"
    path = "path"
    ablation = "ablation"
    uncertainty = "uncertainty"


class EngineName(StrEnum):
    """Who does the work."""

    local = "local"
    ray = "ray"


ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Folder that `gplens fit` or save() of an estimator wrote.")
]
DataFile = Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with the columns of the model.")]
BaselineName = Annotated[str, typer.Option(metavar="BASELINE", help=f"What attributions are relative to: {BASELINE}")]
TargetName = Annotated[
    str,
    typer.Option(
        metavar="TARGET",
        help="What is explained: response, latent, epistemic, predictive, or exceeds:THRESHOLD.",
    ),
]
CPUs = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="CPUs, and so threads, of each worker of Ray.")]


def named_baseline(name: str, model: Path, data: Path) -> Any:
    """A name as it is, and row:17 as the row of the data with this number."""
    kind, _, number = name.partition(":")
    if kind != "row":
        return name
    if not number.isdigit():
        raise ValueError(f"expected the number of a row, such as row:17, got {name!r}.")
    from gplens.batch.column_types import types_of
    from gplens.batch.explainer import check_names
    from gplens.batch.sources import Source, row_of
    from gplens.estimators import load

    plan, source = load(model).columns_, Source(data)
    return row_of(source, int(number), check_names(plan.names, source.names), types_of(plan))
