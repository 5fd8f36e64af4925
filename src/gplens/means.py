"""Prior means: constant, linear, or any differentiable function (MATH 1)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line, Section, autograd_section, constant_section
from gplens.lines.pull_back_weights import Weights

__all__ = ["AutogradMean", "ConstantMean", "LinearMean", "Mean"]


class Mean(ABC):
    """mu(x).

    Example:
        >>> isinstance(gplens.means.ConstantMean(), gplens.means.Mean)
        True
    """

    @property
    def autograd(self) -> bool:
        """Whether the gradient comes from autograd rather than from a formula."""
        return False

    @abstractmethod
    def __call__(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        """mu at points."""

    @abstractmethod
    def along(self, line: Line) -> Section:
        """mu(x(t_q)) along a line: values (b, q), and their pull-back."""


@final
@dataclass(frozen=True, eq=False)
class ConstantMean(Mean):
    """mu = value.

    Example:
        >>> gplens.means.ConstantMean(4.3)
        ConstantMean(value=4.3)
    """

    value: float = 0.0

    def __call__(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return X.new_full(X.shape[:1], self.value)

    def along(self, line: Line) -> Section:
        return constant_section(line.t.new_full(line.t.shape, self.value), line.d.shape[1])


@final
@dataclass(frozen=True, eq=False)
class LinearMean(Mean):
    """mu = x'weight + bias.

    Example:
        >>> gplens.means.LinearMean(torch.tensor([1.0, 2.0]), bias=0.5)(torch.ones(1, 2)).item()
        3.5
    """

    weight: Float[Tensor, " d"]
    bias: float = 0.0

    def __call__(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return X @ self.weight + self.bias

    def along(self, line: Line) -> Section:
        values = (line.x0 @ self.weight + self.bias)[:, None] + line.t * (line.d @ self.weight)[:, None]

        def pull_back(W: Weights) -> Form:
            return Form(shared=((W.dense().sum(2, keepdim=True), self.weight[None]),))

        return Section(values, pull_back, lambda W: W[..., None] * self.weight)


@final
@dataclass(frozen=True, eq=False)
class AutogradMean(Mean):
    """Any differentiable function mu of a batch of inputs; its gradient by autograd.

    Example:
        >>> gplens.means.AutogradMean(lambda x: x.prod(1))(torch.tensor([[2.0, 3.0]])).item()
        6.0
    """

    function: Callable[[Float[Tensor, "b d"]], Float[Tensor, " b"]]

    @property
    def autograd(self) -> bool:
        return True

    def __call__(self, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return self.function(X)

    def along(self, line: Line) -> Section:
        return autograd_section(lambda x: self.function(x.flatten(0, 1)).unflatten(0, x.shape[:2]), line)
