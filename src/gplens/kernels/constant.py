"""Kernels that do not change along a path: a constant, and kernels of categories."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.lines.line import Line, Section, constant_section


@final
@dataclass(frozen=True, eq=False)
class Constant(Kernel):
    """k = variance, for all pairs."""

    variance: Float[Tensor, ""]

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """variance."""
        return self.variance.expand(X.shape[0], Z.shape[0])

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """variance."""
        return self.variance.expand(X.shape[0])

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """variance, with derivative zero."""
        return constant_section(self.variance.expand(*line.t.shape, Z.shape[0]), line.d.shape[1])

    def along_diagonal(self, line: Line) -> Section:
        """variance, with derivative zero."""
        return constant_section(self.variance.expand(line.t.shape), line.d.shape[1])

    def _mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool) -> Float[Tensor, "u w d *d"]:
        """Zero."""
        return X.new_zeros(len(X), len(Y), *[X.shape[1]] * (2 if full else 1))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Zero: nothing changes."""
        return torch.zeros_like(line.d[:, 0])


@final
@dataclass(frozen=True, eq=False)
class Discrete(Kernel):
    """k(x, z) of features that are names and no numbers. Constant along a path, which must not change them."""

    pairs: Callable[[Float[Tensor, "b d"], Float[Tensor, "n d"]], Float[Tensor, "b n"]]
    variance: Callable[[Float[Tensor, "b d"]], Float[Tensor, " b"]]
    name: str

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """The given function."""
        return self.pairs(X, Z)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """The given function."""
        return self.variance(X)

    def along(self, line: Line, Z: Float[Tensor, "n d"]) -> Section:
        """The values at the start, with derivative zero."""
        self._check(line)
        values = self.pairs(line.x0, Z)[:, None].expand(*line.t.shape, -1)
        return constant_section(values, line.d.shape[1])

    def along_diagonal(self, line: Line) -> Section:
        """The values at the start, with derivative zero."""
        self._check(line)
        return constant_section(self.variance(line.x0)[:, None].expand(line.t.shape), line.d.shape[1])

    def _mixed(self, X: Float[Tensor, "u d"], Y: Float[Tensor, "w d"], *, full: bool) -> Float[Tensor, "u w d *d"]:
        """Zero."""
        return X.new_zeros(len(X), len(Y), *[X.shape[1]] * (2 if full else 1))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Zero: nothing changes."""
        return torch.zeros_like(line.d[:, 0])

    def _check(self, line: Line) -> None:
        changes = line.d[line.d != 0]
        if len(changes) == 0:
            return
        raise ValueError(
            f"A path changes, by {float(changes[0]):g}, a feature that the model knows as a name and not as a number "
            f"({self.name}). Between names there is no derivative, so that Integrated Gradients does not exist. Give "
            "each input a baseline of its own categories, a row for each: baseline = X.clone(), with the other columns "
            "changed."
        )
