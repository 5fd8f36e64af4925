"""The warning for paths on which the model is mostly its prior, from a few points of a few paths."""

import sys
import warnings

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.support import SupportWarning
from gplens.processes.prior_variances import support_at, support_of_rows
from gplens.processes.process import Marginals, Process

LOW = 0.1
"""The support below which a call warns. On tables of scikit-learn (wine, breast cancer, iris, digits, diabetes), paths
from the mean, the medoid and a sample of the rows have a least support of 0.2 or more, and paths from zeros, which is
far from the rows of wine, breast cancer and iris, have 0.03 or less."""
PATHS = 16
"""The most paths whose ends and middle are checked."""
PLACES = (0.0, 0.5, 1.0)
CLOSER = (
    "Choose a baseline near the training data, such as gplens.baselines.Sample(X_train) or "
    "gplens.baselines.Medoid(X_train)"
)
REMEDIES = {
    0.0: f"The baseline is far from the data. {CLOSER}",
    0.5: f"The data lie around the path, not on it. {CLOSER}",
    1.0: "The inputs themselves are far from the data, which no baseline changes: read their attributions with care",
}
EVERYWHERE = (
    "The baseline and the inputs are both far from the data. Check that they have the units and the scaling of the "
    "training inputs of the model"
)


def warn_of_low_support(
    process: Process, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], known: Marginals | None = None
) -> None:
    """Warn once if the support is below 0.1 at the ends or the middle of some paths, with the remedy.

    This evaluates v at three points of at most 16 paths, whatever the number of inputs. A process without a known
    prior variance is not checked. `known` are the marginals of a single path at its input, baseline and middle.
    """
    s = min(baselines.shape[1], PATHS)
    rows, members = _spaced(len(x), max(1, PATHS // s)), _spaced(baselines.shape[1], s)
    starts = (baselines if len(baselines) == 1 else baselines[rows])[:, members]
    if known is not None and len(x) == baselines.shape[1] == 1:
        points = torch.cat([x, starts[:, 0], (x + starts[:, 0]) / 2])
        support = support_at(process, points, known)
        support = None if support is None else support.amin(1)[None, None, [1, 2, 0]]
    else:
        support = support_of_rows(process, x[rows], starts, torch.tensor(PLACES, dtype=x.dtype))
    if support is None:
        return
    averages = support.mean(1)
    low = averages.amin(1) < LOW
    if bool(low.any()):
        worst = averages[averages.amin(1).argmin()]
        place = PLACES[int(worst.argmin())]
        remedy = EVERYWHERE if bool((worst < LOW).all()) else REMEDIES[place]
        message = _message(float(worst.min()), place, int(low.sum()), len(rows), remedy)
        warnings.warn(message, SupportWarning, stacklevel=_outside())


def _message(least: float, place: float, low: int, looked_at: int, remedy: str) -> str:
    return (
        f"The model is mostly its prior on the way from the baseline to {low} of {looked_at} inputs looked at: the "
        f"support 1 - v/k is {least:.2f} at t = {place:g}, below {LOW}. {remedy}; support=True gives the part "
        "of each attribution that this concerns, support=False leaves the check out."
    )


def _spaced(count: int, most: int) -> Tensor:
    """Evenly spaced positions."""
    return torch.linspace(0, count - 1, min(count, most)).long()


def _outside() -> int:
    """The stack level of the first caller outside gplens."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gplens":
        level, frame = level + 1, frame.f_back
    return level
