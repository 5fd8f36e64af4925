"""Latent functions of affinely transformed inputs, explained in the raw ones: scalers, rotations (MATH 1.10)."""

from dataclasses import dataclass, replace
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Joint, Nodes, Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process, Sources


@final
class Transformed(Process):
    """f(x') with x' = x W + offset: a straight line stays one, and d_k = sum_j W_kj d_j'  (1.10)."""

    def __init__(self, base: Process, W: Float[Tensor, "d e"], offset: Float[Tensor, " e"]) -> None:
        if W.shape[1] != base.features or offset.shape != W.shape[1:]:
            raise ValueError(
                f"A process of {base.features} features wants W with as many columns and an offset for each; got "
                f"W {tuple(W.shape)} and offset {tuple(offset.shape)}."
            )
        self.base, self.W, self.offset = base, W, offset

    @property
    def latents(self) -> int:
        """As the base."""
        return self.base.latents

    @property
    def features(self) -> int:
        """The raw ones."""
        return self.W.shape[0]

    @property
    def autograd(self) -> bool:
        """As the base."""
        return self.base.autograd

    @property
    def smooth(self) -> bool:
        """As the base."""
        return self.base.smooth

    def along(self, line: Line) -> "TransformedMarginals":
        """The base's marginals along the transformed line."""
        return TransformedMarginals(self.base.along(self._line(line)), self.W)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the base measures the transformed line."""
        return self.base.length(self._line(line))

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The chain rule, once for every derivative; one feature of the raw inputs needs all of the base's."""
        first = self._line(left)
        inner, W = self.base.pairs(first, first if right is left else self._line(right), latent), self.W

        def gradients(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            half = W @ inner.gradients(H, True)
            return half @ W.T if full else (half * W).sum(2)

        one, c_k = self._nodes(inner.left), inner.c_k @ W.T
        two, c_l = (one, c_k) if inner.square else (self._nodes(inner.right), inner.c_l @ W.T)
        return Pairs(one, two, inner.c, c_k, c_l, gradients)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """The chain rule for every pair of nodes."""
        inner = self.base.joint(self._line(line), latent, full=True)
        m_k, v_k, c_k = (tensor @ self.W.T for tensor in (inner.m_k, inner.v_k, inner.c_k))
        form = "ki,qpij,lj->qpkl" if full else "ki,qpij,kj->qpk"
        return replace(inner, m_k=m_k, v_k=v_k, c_k=c_k, c_kl=torch.einsum(form, self.W, inner.c_kl, self.W))

    def floats(self, nodes: int, channels: int) -> int:
        """As the base, and its features for every channel."""
        return self.base.floats(nodes, channels) + 4 * channels * self.base.features

    def select(self, latents: tuple[int, ...]) -> "Transformed":
        """Some of the latent functions."""
        return Transformed(self.base.select(latents), self.W, self.offset)

    def sources(self) -> Sources | None:
        """Those of the base, in the raw inputs."""
        inner = self.base.sources()
        return None if inner is None else replace(inner, process=Transformed(inner.process, self.W, self.offset))

    def to(self, dtype: torch.dtype) -> "Transformed":
        """The base and the transformation."""
        return Transformed(self.base.to(dtype), self.W.to(dtype), self.offset.to(dtype))

    def _nodes(self, inner: Nodes) -> Nodes:
        return Nodes(inner.m, inner.v, inner.m_k @ self.W.T, inner.v_k @ self.W.T)

    def _line(self, line: Line) -> Line:
        return Line(line.x0 @ self.W + self.offset, line.d @ self.W, line.t)


@final
@dataclass(frozen=True)
class TransformedMarginals(Marginals):
    """Marginals of the base, pulled back to the raw inputs."""

    base: Marginals
    W: Float[Tensor, "d e"]

    def means(self) -> Float[Tensor, "b c q"]:
        """As the base."""
        return self.base.m

    def variances(self) -> Float[Tensor, "b c q"]:
        """As the base."""
        return self.base.v

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """The base's, times W'."""
        inner = self.base.pull_back(wm, wv).evaluate(wm.new_empty(*wm.shape[:2], self.W.shape[1]))
        return Form(dense=(inner @ self.W.T,))  # (1.10)


class AffineMap(NamedTuple):
    """x' = x W + offset."""

    W: Float[Tensor, "d e"]
    offset: Float[Tensor, " e"]

    def __call__(self, x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        """x'."""
        return x @ self.W + self.offset

    def then(self, other: "AffineMap") -> "AffineMap":
        """The one after the other."""
        return AffineMap(self.W @ other.W, self.offset @ other.W + other.offset)

    @staticmethod
    def identity(features: int) -> "AffineMap":
        """x' = x."""
        return AffineMap(torch.eye(features, dtype=torch.float64), torch.zeros(features, dtype=torch.float64))
