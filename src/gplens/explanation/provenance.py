"""How an explanation was computed."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Provenance:
    """How an explanation was computed."""

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
