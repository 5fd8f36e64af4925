"""How an explanation was computed."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import final

VERSION = version("gplens")
"""The version of the installed package, read on import because reading it takes as long as a small explanation."""


@final
@dataclass(frozen=True)
class Provenance:
    """How an explanation was computed.

    Example:
        >>> explanation.provenance.model, explanation.provenance.gradients
        ('Posterior', 'closed form')
    """

    model: str
    """The class of the explained model."""
    likelihood: str | None
    """What was passed or read, as text; None if there was none."""
    target: str
    """What was explained, as text; `baseline` and `rule` likewise."""
    baseline: str
    rule: str
    tolerance: float
    """The relative error that was asked for."""
    gradients: str
    """'closed form', or 'autograd' if the gradient of some kernel has no formula."""
    notes: tuple[str, ...]
    """What the adapter did, and how close its predictions are to the model's."""
    version: str
    """The version of gplens."""
    output: str | None = None
    """The name of the only output of a model, if the model gives one: "P(y = class 1)"."""
    path: str | None = None
    """The coordinates in which paths are straight, if these are not the features."""
    remark: str | None = None
    """A remark on how gradients were computed, to be shown with the result."""
    acquisition: bool = False
    """Whether the target is an acquisition function, which has no error bars."""
