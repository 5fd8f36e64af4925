"""Outputs that are linear mixes of latent functions, such as those of a linear model of coregionalisation (MATH 1)."""

from dataclasses import dataclass
from typing import TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process, Sources

Moments = TypeVar("Moments", Pairs, Joint)


@final
class Mix(Process):
    """Outputs that are linear mixes of independent latent functions:  m = M m_l,  v = M^2 v_l + jitter  (1.8)."""

    def __init__(self, base: Process, weights: Float[Tensor, "c l"], jitter: float = 0.0) -> None:
        if weights.shape[1] != base.latents:
            raise ValueError(f"A Mix of {base.latents} latent functions wants as many columns; got {weights.shape[1]}.")
        if base.sources() is not None and bool((weights.count_nonzero(dim=1) > 1).any()):
            raise ValueError("A Mix wants independent latent functions; those given are mixes. Multiply the weights.")
        self.base, self.weights, self.jitter = base, weights, jitter

    @property
    def latents(self) -> int:
        """The outputs of the mix."""
        return self.weights.shape[0]

    @property
    def features(self) -> int:
        """As the base."""
        return self.base.features

    @property
    def autograd(self) -> bool:
        """As the base."""
        return self.base.autograd

    def along(self, line: Line) -> "MixMarginals":
        """The base's marginals, mixed."""
        return MixMarginals(self.base.along(line), self.weights, self.jitter)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the base."""
        return self.base.length(line)

    @property
    def smooth(self) -> bool:
        """As the base."""
        return self.base.smooth

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The sum of independent latent functions, weighted."""
        return self._mixed([self.base.pairs(left, right, i) for i in range(self.base.latents)], latent)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """The sum of independent latent functions, weighted."""
        return self._mixed([self.base.joint(line, i, full=full) for i in range(self.base.latents)], latent)

    def _mixed(self, each: list[Moments], latent: int) -> Moments:
        weights = self.weights[latent].tolist()
        total = each[0].mixed(weights[0], each[0], 0.0)
        for one, weight in zip(each[1:], weights[1:], strict=True):
            total = total.mixed(1.0, one, weight)
        return total.with_jitter(self.jitter)

    def floats(self, nodes: int, channels: int) -> int:
        """As the base."""
        return self.base.floats(nodes, channels)

    def held(self, nodes: int, channels: int) -> int:
        """As the base."""
        return self.base.held(nodes, channels)

    def select(self, latents: tuple[int, ...]) -> "Mix":
        """Some of the outputs."""
        return Mix(self.base, self.weights[list(latents)], self.jitter)

    def sources(self) -> Sources:
        """The base, or what the base is itself a mix of."""
        inner, own = Sources.of(self.base), self.jitter**0.5 * torch.eye(self.latents, dtype=self.weights.dtype)
        noise = [self.weights @ inner.noise, own] if self.jitter else [self.weights @ inner.noise]
        return Sources(inner.process, self.weights @ inner.weights, torch.cat(noise, dim=1))

    def to(self, dtype: torch.dtype) -> "Mix":
        """The base and the weights."""
        return Mix(self.base.to(dtype), self.weights.to(dtype), self.jitter)


@final
@dataclass(frozen=True)
class MixMarginals(Marginals):
    """Marginals of a linear mix."""

    base: Marginals
    weights: Float[Tensor, "c l"]
    jitter: float

    def means(self) -> Float[Tensor, "b c q"]:
        """M m_l."""
        return self.weights @ self.base.m

    def variances(self) -> Float[Tensor, "b c q"]:
        """M^2 v_l + jitter, the square taken elementwise: the latent functions are independent."""
        return self.weights**2 @ self.base.v + self.jitter

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """The weights, mixed back."""
        M = self.weights.T
        return self.base.pull_back(M @ wm, None if wv is None else M**2 @ wv)
