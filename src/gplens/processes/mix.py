"""Outputs that are linear mixes of latent functions, such as those of a linear model of coregionalisation (MATH 1)."""

from typing import TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Marginals, Process
from gplens.processes.wrapping import Wrapping

AnyPairs = TypeVar("AnyPairs", Pairs, SplitPairs)


@final
class Mix(Wrapping):
    """Outputs that are linear mixes M of independent latent functions:  m = M m_l,  v = M^2 v_l + jitter  (1.8).

    Args:
        base: the independent latent functions.
        weights: M, with a row for each output and a column for each latent function.
        jitter: what the host library adds to the variance that it predicts.

    Raises:
        ValueError: if the weights have another number of columns than the base has latent functions, or mix mixes.

    Example:
        >>> two = gplens.Stack((gp, gp))
        >>> mixed = gplens.Mix(two, torch.tensor([[1.0, 1.0], [1.0, -1.0]]).double())
        >>> mixed.latents, mixed.features
        (2, 2)
    """

    def __init__(self, base: Process, weights: Float[Tensor, "c l"], jitter: float = 0.0) -> None:
        if weights.shape[1] != base.latents:
            raise ValueError(
                f"Mix: expected weights with {base.latents} columns, one for each latent function, got "
                f"{weights.shape[1]}."
            )
        if base.sources() is not None and bool((weights.count_nonzero(dim=1) > 1).any()):
            raise ValueError(
                "Mix: expected independent latent functions, got a base whose outputs are mixes themselves. Multiply "
                "the two matrices of weights, and mix the innermost process."
            )
        self.base, self.weights, self.jitter = base, weights, jitter

    @property
    def latents(self) -> int:
        return self.weights.shape[0]

    def along(self, line: Line) -> "MixMarginals":
        return MixMarginals(self.base.along(line), self.weights, self.jitter)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The weighted sum of the independent latent functions."""
        return self._mixed([self.base.pairs(left, right, i) for i in range(self.base.latents)], latent)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        return self._mixed([self.base.split_pairs(line, i) for i in range(self.base.latents)], latent)

    def _mixed(self, parts: list[AnyPairs], latent: int) -> AnyPairs:
        first, *others = parts
        weight, *other_weights = self.weights[latent].tolist()
        total = first.combined(weight, first, 0.0)
        for part, other_weight in zip(others, other_weights, strict=True):
            total = total.combined(1.0, part, other_weight)
        return total.with_jitter(self.jitter)

    def select(self, latents: tuple[int, ...]) -> "Mix":
        return Mix(self.base, self.weights[list(latents)], self.jitter)

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
        base = self.base.prior_variance(X)
        return None if base is None else base @ self.weights.T**2 + self.jitter  # (1.8)

    def sources(self) -> Sources:
        """The base, or the sources of the base if the base is itself a mix."""
        inner = Sources.of(self.base)
        noise = [self.weights @ inner.noise]
        if self.jitter:
            noise.append(self.jitter**0.5 * torch.eye(self.latents, dtype=self.weights.dtype))
        return Sources(inner.process, self.weights @ inner.weights, torch.cat(noise, dim=1))


@final
class MixMarginals(Marginals):
    """Marginals of a linear mix of independent latent functions."""

    def __init__(self, base: Marginals, weights: Float[Tensor, "c l"], jitter: float) -> None:
        self.base, self.weights, self.jitter = base, weights, jitter

    def means(self) -> Float[Tensor, "b c q"]:
        return self.weights @ self.base.m

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.weights**2 @ self.base.v + self.jitter

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        M = self.weights.T
        return self.base.pull_back(M @ wm, None if wv is None else M**2 @ wv)
