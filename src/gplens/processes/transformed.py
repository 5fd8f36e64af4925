"""Latent functions of affinely transformed inputs, explained in the raw ones: scalers, rotations (MATH 1.10)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.lines.between import Between
from gplens.lines.forms import Form
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.processes.category_blocks import blocks_behind
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Blocks, Marginals, Process
from gplens.processes.wrapping import Wrapping


@final
@dataclass(frozen=True, eq=False)
class AffineMap:
    """x' = x W + offset: scalers, selections of columns, rotations, and sequences of them.

    It is evaluated in the host's order of operations, step by step: (x - centre) / scale keeps the digits of
    x - centre, which x / scale - centre / scale loses if the centre is large compared with the scale.
    """

    W: Float[Tensor, "d e"]
    apply: Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]]
    """x -> x'."""
    blocks: tuple[tuple[int, ...], ...] = ()
    """Columns of x that change at once, such as one-hot blocks: x' is affine in the others while these are constant."""
    rounded: tuple[int, ...] = ()
    """Columns of x that the host rounds and this map does not; both agree at whole numbers."""

    def __call__(self, x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        """The transformed inputs x'."""
        return self.apply(x)

    @property
    def outputs(self) -> int:
        """The number of columns of x'."""
        return self.W.shape[1]

    def then(self, following: "AffineMap") -> "AffineMap":
        """This map followed by another one."""
        blocks = self.blocks + tuple(filter(None, map(self._behind, following.blocks)))
        rounded = self.rounded + self._behind(following.rounded)
        return AffineMap(self.W @ following.W, lambda x: following(self(x)), blocks, rounded)

    def _behind(self, columns: tuple[int, ...]) -> tuple[int, ...]:
        """The columns of x on which columns of x' depend."""
        return tuple((self.W[:, list(columns)] != 0).any(1).nonzero()[:, 0].tolist())

    @staticmethod
    def linear(W: Float[Tensor, "d e"], centre: Float[Tensor, " d"] | None = None) -> "AffineMap":
        """x' = (x - centre) W."""
        return AffineMap(W, lambda x: (x if centre is None else x - centre) @ W)

    @staticmethod
    def columns(features: int, kept: Int[Tensor, " e"] | Bool[Tensor, " d"] | None = None) -> "AffineMap":
        """Some of the features, or all of them."""
        identity = torch.eye(features, dtype=torch.float64)
        return AffineMap(identity, lambda x: x) if kept is None else AffineMap(identity[:, kept], lambda x: x[:, kept])

    @staticmethod
    def scaled(scale: Float[Tensor, " d"], centre: Float[Tensor, " d"] | None = None) -> "AffineMap":
        """x' = (x - centre) / scale, column by column."""
        return AffineMap(torch.diag(1 / scale), lambda x: (x if centre is None else x - centre) / scale)

    @staticmethod
    def shifted(rate: Float[Tensor, " d"], shift: Float[Tensor, " d"]) -> "AffineMap":
        """x' = x rate + shift, column by column."""
        return AffineMap(torch.diag(rate), lambda x: x * rate + shift)


@final
class Transformed(Wrapping):
    """f(x') with x' = x W + offset. A straight line stays straight, and  d_k = sum_j W_kj d_j'  (1.10).

    `base` is f; W has a row for each feature of x, W and offset a column for each one of x'. Other shapes are refused.

    Example:
        >>> in_grams = gplens.Transformed(gp, torch.eye(2).double() / 1000, torch.zeros(2).double())
        >>> in_grams.features
        2
    """

    def __init__(self, base: Process, W: Float[Tensor, "d e"], offset: Float[Tensor, " e"]) -> None:
        if W.shape[1] != base.features or offset.shape != W.shape[1:]:
            raise ValueError(
                f"Transformed: expected W with {base.features} columns and an offset with {base.features} entries, got "
                f"W of shape {tuple(W.shape)} and an offset of shape {tuple(offset.shape)}."
            )
        self.base, self.map = base, AffineMap(W, lambda x: x @ W + offset)

    @staticmethod
    def through(base: Process, affine: AffineMap) -> "Transformed":
        """From a map that keeps its own order of operations."""
        process = Transformed(base, affine.W, affine(affine.W.new_zeros(1, len(affine.W)))[0])
        process.map = affine
        return process

    @property
    def W(self) -> Float[Tensor, "d e"]:
        """The matrix of the map."""
        return self.map.W

    @property
    def offset(self) -> Float[Tensor, " e"]:
        """x' of x = 0."""
        return self.map(self.W.new_zeros(1, self.features))[0]

    @property
    def features(self) -> int:
        return self.W.shape[0]

    @property
    def categories(self) -> Blocks:
        return *self.map.blocks, *blocks_behind(self.base.categories, self.W != 0)

    @property
    def rounded(self) -> tuple[int, ...]:
        return self.map.rounded

    def along(self, line: Line) -> "TransformedMarginals":
        return TransformedMarginals(self.base.along(self.inner(line)), self.W)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The chain rule for every derivative. A single raw feature needs all features of the base."""
        base_left = self.inner(left)
        inner, W = self.base.pairs(base_left, base_left if right is left else self.inner(right), latent), self.W

        def gradient_sum(H: Float[Tensor, "b q p"], full: bool) -> Float[Tensor, "b d *d"]:
            half = W @ inner.gradient_sum(H, True)
            return half @ W.T if full else (half * W).sum(2)

        def gradients(full: bool) -> Float[Tensor, "b q p d *d"]:
            indices = "ki,bqpij,lj->bqpkl" if full else "ki,bqpij,kj->bqpk"
            return torch.einsum(indices, W, inner.gradients(True), W)

        marginals, c_k = inner.left.pulled_back(W), inner.c_k @ W.T
        right_marginals, c_l = (marginals, c_k) if inner.square else (inner.right.pulled_back(W), inner.c_l @ W.T)
        return Pairs(marginals, right_marginals, inner.c, c_k, c_l, gradient_sum, gradients)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        inner, W = self.base.split_pairs(self.inner(line), latent), self.W

        def prior(left: Line, right: Line) -> Between:
            base_left = self.inner(left)
            return inner.prior(base_left, base_left if right is left else self.inner(right)).pulled_back(W)

        return inner.pulled_back(W, prior)

    def select(self, latents: tuple[int, ...]) -> "Transformed":
        return Transformed.through(self.base.select(latents), self.map)

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
        return self.base.prior_variance(self.map(X))

    def sources(self) -> Sources | None:
        """The sources of the base, in the raw inputs."""
        inner = self.base.sources()
        return None if inner is None else replace(inner, process=Transformed.through(inner.process, self.map))

    def inner(self, line: Line) -> Line:
        columns = [column for block in self.map.blocks for column in block]
        if columns and bool((line.d[:, columns] != 0).any()):
            raise ValueError(
                f"expected lines that leave the encoded columns {columns} unchanged, got one that does not: between "
                "categories there is no derivative. gplens.explain switches them; for anything else give each input a "
                "baseline with its own categories."
            )
        return Line(self.map(line.x0), line.d @ self.W, line.t)


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
