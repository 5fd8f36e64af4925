"""From C latent functions to C class probabilities: exact, and the paper's approximation (MATH 3)."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import one_hot

from gplens.expectations.expectation import Expectation, Jet
from gplens.expectations.link import beside_a_step
from gplens.expectations.softmax.integral import derivatives
from gplens.expectations.softmax.sampled import MixedSoftmax
from gplens.expectations.softmax.taylor import taylor
from gplens.processes.process import Marginals

Derivatives = tuple[Float[Tensor, "e c"], Float[Tensor, "e o c"], Float[Tensor, "e o c"]]

FINEST = 1e-12
"""The smallest error that the integral can hold in float64."""
SHARE = 1e-2
"""The error of the expectation as a part of the tolerance of attributions: errors add up along the path."""


class ClassProbabilities(Expectation):
    """psi_c = E S_c(f) with f_j ~ N(m_j, v_j) independent."""

    @property
    def independent(self) -> bool:
        return True

    def count(self, latents: int) -> int:
        if latents < 2:
            raise ValueError(
                f"{self!r}: expected two or more classes, got a model with {latents} latent function. For a binary "
                "model use links.Sigmoid() or links.Probit()."
            )
        return latents

    def names(self, latents: int) -> tuple[str, ...]:
        return tuple(f"class {i}" for i in range(self.count(latents)))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """The probabilities of the requested classes, and their derivatives in all latent functions."""
        m, v = (tensor.movedim(1, 2) for tensor in (marginals.m, marginals.v))
        b, q, _ = m.shape
        value, by_m, by_v = self.derivatives(m.flatten(0, 1), v.flatten(0, 1), outputs)
        by_m, by_v = (tensor.unflatten(0, (b, q)).movedim(1, 3) for tensor in (by_m, by_v))
        return Jet(value[:, list(outputs)].unflatten(0, (b, q)).mT, by_m, by_v)

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"]:
        """The resolution of each logit, relative to the largest of the other logits."""
        m = marginals.m
        (first, second), index = m.topk(2, dim=1).values.unbind(1), m.argmax(1, keepdim=True)
        others = first[:, None].expand_as(m).scatter(1, index, second[:, None])
        return beside_a_step(m - others, 1 + marginals.v)

    @abstractmethod
    def derivatives(self, m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], outputs: tuple[int, ...]) -> Derivatives:
        """E S of all classes, and d E S_c/dm_j and d E S_c/dv_j of the requested classes."""


@final
@dataclass(frozen=True)
class Softmax(ClassProbabilities):
    """E S_c, exactly, as a one-dimensional integral over the largest of the logits  (3.2) to (3.4).

    `tolerance` is the absolute error of probabilities and derivatives, for C from 2 to 1000, v from 0 to 400 and
    |m| to 100. explain() sets it from its own tolerance.

    Example:
        >>> three = gplens.Stack((gp, gp, gp))
        >>> e = gplens.explain(three, X[3:4], baseline=0.0, likelihood=gplens.links.Softmax())
        >>> round(e.prediction[0].sum().item(), 6)
        1.0
    """

    tolerance: float = 1e-9

    @property
    def accuracy(self) -> float:
        """The error of the expectation, times the factor by which errors add up along a path."""
        return self.tolerance / SHARE

    @property
    def floor(self) -> float:
        return self.tolerance

    def within(self, tolerance: float) -> "Softmax":
        """With a hundredth of the tolerance of attributions, but not a larger one than before."""
        return replace(self, tolerance=max(FINEST, min(self.tolerance, SHARE * tolerance)))

    def of_mixes(self, weights: Float[Tensor, "c l"], noise: Float[Tensor, "c n"]) -> MixedSoftmax:
        """Correlated logits have no such integral, and are averaged by quasi Monte Carlo."""
        return MixedSoftmax(torch.eye(len(weights), dtype=weights.dtype)).of_mixes(weights, noise)

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """S_c (delta_cj - S_j). `extra`, the host's jitter, changes it by no more than itself and is left out."""
        S = torch.softmax(f, dim=1)
        chosen = one_hot(torch.tensor(outputs), f.shape[1]).to(f.dtype)[:, :, None]
        return S[:, list(outputs), None] * (chosen - S[:, None])

    def derivatives(self, m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], outputs: tuple[int, ...]) -> Derivatives:
        return derivatives(m, v, outputs, tolerance=self.tolerance)


@final
@dataclass(frozen=True)
class SoftmaxTaylor(ClassProbabilities):
    """The paper's second-order expansion in f around m  (3.11), (3.12), with its lost factor 2 restored.

    A named approximation: the probabilities are exact, the derivatives are those of the expansion, and the completeness
    gap is what that costs. Use `Softmax` for anything but comparison.

    Example:
        >>> gplens.links.SoftmaxTaylor()
        SoftmaxTaylor()
    """

    @property
    def accuracy(self) -> float:
        """Infinite: the derivatives are not those of the probabilities."""
        return torch.inf

    def derivatives(self, m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], outputs: tuple[int, ...]) -> Derivatives:
        expansion = taylor(m, v)
        return expansion.value, *expansion.derivatives(outputs)
