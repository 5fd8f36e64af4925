"""Any kernel of which only the values are known."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.kernels.kernel import Kernel


@final
@dataclass(frozen=True, eq=False)
class Autograd(Kernel):
    """k as two differentiable functions: all pairs, and k(x, x). Gradients by autograd: O(qnd) a row and slower."""

    pairs: Callable[[Float[Tensor, "b d"], Float[Tensor, "n d"]], Float[Tensor, "b n"]]
    variance: Callable[[Float[Tensor, "b d"]], Float[Tensor, " b"]]
    name: str = "a function"

    @property
    def autograd(self) -> bool:
        """Always."""
        return True

    def __call__(self, X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        """The given function."""
        return self.pairs(X, Z)

    def diagonal(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """The given function."""
        return self.variance(X)
