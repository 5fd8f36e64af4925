"""The warning for paths on which the model is mostly its prior."""

import sys
import warnings

from jaxtyping import Float
from torch import Tensor

from gplens.explanation.support import SupportWarning

PLACES = (0.0, 0.5, 1.0)
"""The baseline, the middle and the input of a path, where every call evaluates the support."""
LOW = 0.1
"""The support below which a call warns. On tables of scikit-learn (wine, breast cancer, iris, digits, diabetes), paths
from the mean, the medoid and a sample of the rows have a least support of 0.2 or more, and paths from zeros, which is
far from the rows of wine, breast cancer and iris, have 0.03 or less."""
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


def warn_of_low_support(support: Float[Tensor, "k p"]) -> None:
    """Warn once, with the remedy, if the support is below 0.1 at the baseline, the middle or the input of a path."""
    low = support.amin(1) < LOW
    if bool(low.any()):
        worst = support[support.amin(1).argmin()]
        place = PLACES[int(worst.argmin())]
        remedy = EVERYWHERE if bool((worst < LOW).all()) else REMEDIES[place]
        message = _message(float(worst.min()), place, int(low.sum()), len(support), remedy)
        warnings.warn(message, SupportWarning, stacklevel=_outside())


def _message(least: float, place: float, low: int, looked_at: int, remedy: str) -> str:
    return (
        f"The model is mostly its prior on the way from the baseline to {low} of {looked_at} inputs looked at: the "
        f"support 1 - v/k is {least:.2f} at t = {place:g}, below {LOW}. {remedy}; support=True gives the part "
        "of each attribution that this concerns, support=False leaves the check out."
    )


def _outside() -> int:
    """The stack level of the first caller outside gplens."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gplens":
        level, frame = level + 1, frame.f_back
    return level
