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
    likelihood: str | None
    target: str
    baseline: str
    rule: str
    tolerance: float
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
