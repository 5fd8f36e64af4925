"""Kernels in one-hot layout: products over categories become products of bilinear kernels (MATH 10.3)."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels import ActiveDimensions, Bilinear, Discrete, Kernel, Product, Scale, Sum
from gplens.processes.one_hot_layout import OneHotLayout

TRIED = 64
"""The number of random pairs of level combinations at which a kernel is compared with the product of its factors."""
AGREEMENT = 1e-12
"""The largest accepted difference of kernel and product, relative to the largest value."""


def one_hot_kernel(kernel: Kernel, layout: OneHotLayout) -> Kernel | None:
    """The multilinear extension of a kernel; None if it is not a sum of products with one factor for each category."""
    return _rewritten(kernel, list(range(layout.features)), layout)


def _rewritten(kernel: Kernel, columns: list[int], layout: OneHotLayout) -> Kernel | None:
    """A kernel of some columns of x."""
    if isinstance(kernel, ActiveDimensions):
        return _rewritten(kernel.kernel, [columns[i] for i in kernel.dims.tolist()], layout)
    if isinstance(kernel, Scale):
        inner = _rewritten(kernel.kernel, columns, layout)
        return None if inner is None else Scale(inner, kernel.variance)
    if isinstance(kernel, Sum | Product):
        parts = [_rewritten(part, columns, layout) for part in kernel.kernels]
        rewritten = tuple(part for part in parts if part is not None)
        if len(rewritten) < len(parts) or (isinstance(kernel, Product) and _overlap(kernel.kernels, columns, layout)):
            return None
        return Product(rewritten) if isinstance(kernel, Product) else Sum(rewritten)
    if isinstance(kernel, Discrete):
        return _factorised(kernel, columns, layout)
    if any(column in layout.levels for column in columns):
        return None
    return _on(kernel, [layout.blocks[column][0] for column in columns])


def _overlap(kernels: tuple[Kernel, ...], columns: list[int], layout: OneHotLayout) -> bool:
    """Whether two factors depend on the same category, so that their product is not linear in its shares."""
    used: set[int] = set()
    for kernel in kernels:
        categories = {columns[i] for i in _columns(kernel, list(range(len(columns))))} & layout.levels.keys()
        if categories & used:
            return True
        used |= categories
    return False


def _columns(kernel: Kernel, columns: list[int]) -> set[int]:
    """The columns that the kernel depends on."""
    if isinstance(kernel, ActiveDimensions):
        return _columns(kernel.kernel, [columns[i] for i in kernel.dims.tolist()])
    if isinstance(kernel, Scale):
        return _columns(kernel.kernel, columns)
    if isinstance(kernel, Sum | Product):
        return set().union(*(_columns(part, columns) for part in kernel.kernels))
    return set(columns)


def _factorised(kernel: Discrete, columns: list[int], layout: OneHotLayout) -> Kernel | None:
    """k = k(r, r) prod_j G_j(x_j, z_j), where k(r, r) G_j is k with all columns but j at the levels r; else None."""
    if len(set(columns)) < len(columns):
        return None
    levels = [layout.levels[column] for column in columns]
    reference = torch.stack([codes[0] for codes in levels])[None]
    scale, factors = kernel(reference, reference)[0, 0], []
    for j, codes in enumerate(levels):
        rows = reference.repeat(len(codes), 1)
        rows[:, j] = codes
        factors.append(kernel(rows, rows) / scale)
    if not bool(scale != 0) or not _is_product(kernel, levels, factors, scale):
        return None
    blocks = [_on(Bilinear((G + G.T) / 2), list(layout.blocks[j])) for j, G in zip(columns, factors, strict=True)]
    return Scale(blocks[0] if len(blocks) == 1 else Product(tuple(blocks)), scale)


def _is_product(kernel: Discrete, levels: list[Tensor], factors: list[Tensor], scale: Float[Tensor, ""]) -> bool:
    g = torch.Generator().manual_seed(0)
    x, z = ([torch.randint(len(codes), (TRIED,), generator=g) for codes in levels] for _ in range(2))
    rows, others = (torch.stack([codes[i] for codes, i in zip(levels, of, strict=True)], dim=1) for of in (x, z))
    whole, product = kernel(rows, others).diagonal(), scale.expand(TRIED)
    for G, i, j in zip(factors, x, z, strict=True):
        product = product * G[i, j]
    return bool(((whole - product).abs() <= AGREEMENT * whole.abs().max()).all())


def _on(kernel: Kernel, columns: list[int]) -> Kernel:
    return ActiveDimensions(kernel, torch.tensor(columns))
