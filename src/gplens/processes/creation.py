"""What a Posterior was made from, so that a change in place is noticed wherever on a path it would show."""

from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, final

import torch
from torch import Tensor

if TYPE_CHECKING:
    from gplens.processes.posterior import Posterior

SMALL = 4096
"""The most numbers of a tensor that is copied."""


@final
@dataclass(frozen=True, eq=False)
class Creation:
    """Copies of the small tensors of a posterior, and sums of the bits of the large ones."""

    marks: dict[str, tuple[Tensor, ...]]

    @staticmethod
    def of(posterior: "Posterior") -> "Creation":
        """As the posterior is now."""
        return Creation({name: _mark(tensor.detach()) for name, tensor in _tensors(posterior).items()})

    def changed(self, posterior: "Posterior") -> str | None:
        """The name of a tensor that is another one now; None if all are the same."""
        now = _tensors(posterior)
        for name, marks in self.marks.items():
            if name not in now or not all(map(torch.equal, marks, _mark(now[name].detach()))):
                return name
        return None


def _tensors(posterior: "Posterior") -> dict[str, Tensor]:
    tensors = {"Z": posterior.Z, "beta": posterior.beta, "A.F": posterior.A.F, "A.s": posterior.A.s}
    for i, part in enumerate((posterior.kernel, *posterior.means)):
        tensors |= _fields(type(part).__name__ if i == 0 else f"means[{i - 1}]", part)
    return tensors


def _fields(name: str, part: Any) -> dict[str, Tensor]:
    """The tensors of a kernel or mean and of those that it is made of."""
    if isinstance(part, Tensor):
        return {name: part}
    if isinstance(part, tuple):
        return {key: value for i, inner in enumerate(part) for key, value in _fields(f"{name}[{i}]", inner).items()}
    if not is_dataclass(part) or isinstance(part, type):
        return {}
    held = [(field.name, getattr(part, field.name)) for field in fields(part)]
    return {key: value for inner, value in held for key, value in _fields(f"{name}.{inner}", value).items()}


def _mark(tensor: Tensor) -> tuple[Tensor, ...]:
    """A copy, or sums of the bits over two axes: sums of integers, which no order of summation changes."""
    if tensor.numel() <= SMALL or tensor.ndim < 2:
        return (tensor.clone(),)
    bits = tensor.double().view(torch.int64)
    return bits.sum(-1), bits.sum(-2)
