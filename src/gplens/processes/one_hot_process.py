"""Processes in one-hot layout: a latent function averaged over switched categories is again a process (MATH 10.3)."""

from dataclasses import dataclass
from itertools import product
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.means import AutogradMean, ConstantMean, Mean
from gplens.processes.category_blocks import category_blocks
from gplens.processes.mix import Mix
from gplens.processes.one_hot_kernel import one_hot_kernel
from gplens.processes.one_hot_layout import OneHotLayout, levels_in
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed

COMBINATIONS = 64
"""The most combinations of levels at which a prior mean that is not constant is evaluated."""


@final
@dataclass(frozen=True, eq=False)
class OneHotProcess:
    """f(x, p) = sum over levels of prod_j p_j,l(j) f(x, l):  a Gaussian process of numbers and shares  (10.3)."""

    process: Process
    layout: OneHotLayout

    @staticmethod
    def of(process: Process, *points: Float[Tensor, "_ d"]) -> "OneHotProcess | None":
        """With the categories of a process and of points; None if the kernel is not a sum of products over them."""
        blocks = category_blocks(process)
        if not blocks or any(len(block) > 1 for block in blocks):
            return None
        support = _support(process)
        if support is None:
            return None
        levels = {j: levels_in(*(part[:, j] for part in (*points, *support))) for (j,) in blocks}
        layout = OneHotLayout(process.features, levels)
        encoded = _encoded(process, layout)
        return None if encoded is None else OneHotProcess(encoded, layout)


def _support(process: Process) -> list[Float[Tensor, "n d"]] | None:
    """The support points in the inputs of the process, of which only the categories are exact; None if not known."""
    if isinstance(process, Posterior):
        return [process.Z]
    if isinstance(process, Mix):
        return _support(process.base)
    if isinstance(process, Stack):
        parts = [_support(part) for part in process.parts]
        return None if None in parts else [Z for part in parts if part is not None for Z in part]
    if isinstance(process, Transformed):
        inner = _support(process.base)
        pairs = [_only(process.map, j) for (j,) in category_blocks(process)]
        columns = dict(pair for pair in pairs if pair is not None)
        if inner is None or len(columns) < len(pairs):
            return None
        return [_raw(Z, process, columns) for Z in inner]
    return None


def _only(affine: AffineMap, column: int) -> tuple[int, int] | None:
    """The only column of x' that depends on a column of x, if it depends on no other; else None."""
    used = (affine.W[column] != 0).nonzero()[:, 0].tolist()
    if affine.blocks or len(used) != 1 or int((affine.W[:, used[0]] != 0).sum()) != 1:
        return None
    return column, used[0]


def _raw(Z: Float[Tensor, "n e"], process: Transformed, columns: dict[int, int]) -> Float[Tensor, "n d"]:
    """The codes of the support points in the raw inputs, without rounding; columns of numbers are left out."""
    raw = Z.new_zeros(len(Z), process.features)
    for column, inner in columns.items():
        raw[:, column] = (Z[:, inner] - process.offset[inner]) / process.W[column, inner]
    return raw


def _encoded(process: Process, layout: OneHotLayout) -> Process | None:
    if isinstance(process, Posterior):
        return _posterior(process, layout)
    if isinstance(process, Mix):
        base = _encoded(process.base, layout)
        return None if base is None else Mix(base, process.weights, process.jitter)
    if isinstance(process, Stack):
        parts = [_encoded(part, layout) for part in process.parts]
        encoded = tuple(part for part in parts if part is not None)
        return Stack(encoded) if len(encoded) == len(parts) else None
    return _transformed(process, layout) if isinstance(process, Transformed) else None


def _posterior(posterior: Posterior, layout: OneHotLayout) -> Posterior | None:
    kernel = one_hot_kernel(posterior.kernel, layout)
    means = [_mean(mean, layout) for mean in posterior.means]
    encoded = [mean for mean in means if mean is not None]
    if kernel is None or len(encoded) < len(means):
        return None
    Z = layout.encode(posterior.Z)
    return Posterior(kernel, Z, posterior.beta, posterior.A, encoded, jitter=posterior.jitter)


def _mean(mean: Mean, layout: OneHotLayout) -> Mean | None:
    """The average over the levels, weighted by their shares; None if there are too many combinations."""
    if isinstance(mean, ConstantMean):
        return mean
    choices = list(product(*(range(len(codes)) for codes in layout.levels.values())))
    if len(choices) > COMBINATIONS:
        return None

    def average(E: Float[Tensor, "b e"]) -> Float[Tensor, " b"]:
        total = E.new_zeros(len(E))
        for choice in choices:
            X, share = layout.decode_numbers(E).clone(), E.new_ones(len(E))
            for (column, codes), level in zip(layout.levels.items(), choice, strict=True):
                X[:, column] = codes[level]
                share = share * E[:, layout.blocks[column][level]]
            total = total + share * mean(X)
        return total

    return AutogradMean(average)


def _transformed(process: Transformed, layout: OneHotLayout) -> Transformed | None:
    """The numbers are mapped as in the process, the shares stay as they are."""
    pairs = [_only(process.map, column) for column in layout.levels]
    places = dict(pair for pair in pairs if pair is not None)
    if len(places) < len(pairs):
        return None
    levels = {}
    for column, codes in layout.levels.items():
        rows = codes.new_zeros(len(codes), layout.features)
        rows[:, column] = codes
        levels[places[column]] = process.map(rows)[:, places[column]]
    inner = OneHotLayout(process.base.features, levels)
    base = _encoded(process.base, inner)
    if base is None:
        return None
    W, shares = codes_free(process.map.W, layout, inner), slice(len(layout.numbers), None)

    def apply(E: Float[Tensor, "k e"]) -> Float[Tensor, "k f"]:
        numbers = process.map(layout.decode_numbers(E))[:, inner.numbers]
        return torch.cat([numbers, E[:, shares]], dim=1)

    return Transformed.through(base, AffineMap(W, apply))


def codes_free(W: Float[Tensor, "d e"], layout: OneHotLayout, inner: OneHotLayout) -> Float[Tensor, "_ _"]:
    """The matrix of a map in one-hot layout: the map's matrix for numbers, and the identity for shares."""
    shares = torch.eye(layout.width - len(layout.numbers), dtype=W.dtype)
    return torch.block_diag(W[layout.numbers][:, inner.numbers], shares)
