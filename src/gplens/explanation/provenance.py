"""How an explanation was computed."""

from dataclasses import dataclass
from importlib.metadata import version
from typing import final

VERSION = version("gplens")
"""Of the installed package. It is read here once, since that takes as long as a small explanation."""


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
    """'closed form', or 'autograd' if some kernel has no formula."""
    notes: tuple[str, ...]
    """What the adapter did, and how close it is to the model's own prediction."""
    version: str
    """Of gplens."""
    output: str | None = None
    """What the single output of a model is, if the model names it: "P(y = class 1)"."""
    path: str | None = None
    """What paths are straight in, if that is not the features themselves."""
    remark: str | None = None
    """How gradients were computed, if that is to be said beside the result."""
    acquisition: bool = False
    """Whether the target is an acquisition function, which has no error bars."""
