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
    likelihood: str | None
    target: str
    baseline: str
    rule: str
    tolerance: float
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
