"""Latent functions of affinely transformed inputs, explained in the raw ones: scalers, rotations (MATH 1.10)."""

from dataclasses import replace
from typing import NamedTuple, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process, Sources


class AffineMap(NamedTuple):
    """x' = x W + offset: scalers, selections of columns, rotations, and sequences of them."""

    W: Float[Tensor, "d e"]
    offset: Float[Tensor, " e"]

    def __call__(self, x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        """x'."""
        return x @ self.W + self.offset

    def then(self, following: "AffineMap") -> "AffineMap":
        """This map followed by another one."""
        return AffineMap(self.W @ following.W, self.offset @ following.W + following.offset)

    @staticmethod
    def identity(features: int) -> "AffineMap":
        """x' = x."""
        return AffineMap(torch.eye(features, dtype=torch.float64), torch.zeros(features, dtype=torch.float64))


@final
class Transformed(Process):
    """f(x') with x' = x W + offset. A straight line stays one, and  d_k = sum_j W_kj d_j'  (1.10)."""

    def __init__(self, base: Process, W: Float[Tensor, "d e"], offset: Float[Tensor, " e"]) -> None:
        if W.shape[1] != base.features or offset.shape != W.shape[1:]:
            raise ValueError(
                f"Transformed: expected W with {base.features} columns and an offset with {base.features} entries, got "
                f"W of shape {tuple(W.shape)} and an offset of shape {tuple(offset.shape)}."
            )
        self.base, self.W, self.offset = base, W, offset

    @property
    def latents(self) -> int:
        return self.base.latents

    @property
    def features(self) -> int:
        return self.W.shape[0]

    @property
    def autograd(self) -> bool:
        return self.base.autograd

    @property
    def smooth(self) -> bool:
        return self.base.smooth

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return self.base.kinks(self._line(line))

    @property
    def width(self) -> int:
        return self.base.width

    def along(self, line: Line) -> "TransformedMarginals":
        return TransformedMarginals(self.base.along(self._line(line)), self.W)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.base.length(self._line(line))

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The chain rule, once for every derivative. One raw feature needs all features of the base."""
        base_left = self._line(left)
        inner, W = self.base.pairs(base_left, base_left if right is left else self._line(right), latent), self.W

        def gradient_sum(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            half = W @ inner.gradient_sum(H, True)
            return half @ W.T if full else (half * W).sum(2)

        def gradients(full: bool) -> Float[Tensor, "b q p d *d"]:
            indices = "ki,bqpij,lj->bqpkl" if full else "ki,bqpij,kj->bqpk"
            return torch.einsum(indices, W, inner.gradients(True), W)

        marginals, c_k = inner.left.pulled_back(W), inner.c_k @ W.T
        right_marginals, c_l = (marginals, c_k) if inner.square else (inner.right.pulled_back(W), inner.c_l @ W.T)
        return Pairs(marginals, right_marginals, inner.c, c_k, c_l, gradient_sum, gradients)

    def select(self, latents: tuple[int, ...]) -> "Transformed":
        return Transformed(self.base.select(latents), self.W, self.offset)

    def sources(self) -> Sources | None:
        """The sources of the base, in the raw inputs."""
        inner = self.base.sources()
        return None if inner is None else replace(inner, process=Transformed(inner.process, self.W, self.offset))

    def _line(self, line: Line) -> Line:
        return Line(line.x0 @ self.W + self.offset, line.d @ self.W, line.t)


@final
class TransformedMarginals(Marginals):
    """Marginals of the base, pulled back to the raw inputs."""

    def __init__(self, base: Marginals, W: Float[Tensor, "d e"]) -> None:
        self.base, self.W = base, W

    def means(self) -> Float[Tensor, "b c q"]:
        return self.base.m

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.base.v

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        inner = self.base.pull_back(wm, wv).evaluate(wm.new_empty(*wm.shape[:2], self.W.shape[1]))
        return Form(dense=(inner @ self.W.T,))  # (1.10)
