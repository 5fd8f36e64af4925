"""The constant kernel: an uncertain offset."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel
from gplens.line import Line, Section, constant_section


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
