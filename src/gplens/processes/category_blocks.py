"""Columns of a process that have no values in between, read from its kernels and its maps of inputs (MATH 10.1)."""

from collections.abc import Iterable

from jaxtyping import Bool, Float
from torch import Tensor

from gplens.kernels import ActiveDimensions, Discrete, Kernel, Power, Scale, Warped
from gplens.kernels.composite import Compound
from gplens.processes.curved import Curved
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed

Blocks = tuple[tuple[int, ...], ...]
LOOKED_AT = 4
"""The number of support points at which a Jacobian is evaluated, to see which columns depend on which."""


def category_blocks(process: Process) -> Blocks:
    """Blocks of category and task columns that change together; empty if all columns are numbers."""
    return joined_blocks(_blocks(process))


def rounded_columns(process: Process) -> list[int]:
    """Columns that the host rounds; host and process agree there at whole numbers only."""
    if isinstance(process, Transformed):
        return [*process.map.rounded]
    if isinstance(process, Stack):
        return [column for part in process.parts for column in rounded_columns(part)]
    return rounded_columns(process.base) if isinstance(process, Mix) else []


def joined_blocks(blocks: Iterable[Iterable[int]]) -> Blocks:
    """Merge blocks that share a column."""
    joined: list[set[int]] = []
    for block in map(set, blocks):
        touching = [other for other in joined if other & block]
        joined = [other for other in joined if not other & block]
        joined.append(block.union(*touching))
    return tuple(sorted(tuple(sorted(block)) for block in joined if block))


def _blocks(process: Process) -> list[tuple[int, ...]]:
    if isinstance(process, Posterior):
        return [(column,) for column in _columns(process.kernel, process.Z)]
    if isinstance(process, Transformed):
        return [*process.map.blocks, *_behind(_blocks(process.base), process.W != 0)]
    if isinstance(process, Curved):
        return _behind(_blocks(process.base), process.phi.depends)
    if isinstance(process, Mix):
        return _blocks(process.base)
    if isinstance(process, Stack):
        return [block for part in process.parts for block in _blocks(part)]
    return []


def _columns(kernel: Kernel, Z: Float[Tensor, "n d"]) -> list[int]:
    """The columns in which a kernel has no derivative."""
    if isinstance(kernel, Discrete):
        return list(range(Z.shape[1]))
    if isinstance(kernel, ActiveDimensions):
        dims = kernel.dims.tolist()
        return [dims[i] for i in _columns(kernel.kernel, Z[:, kernel.dims])]
    if isinstance(kernel, Scale | Power):
        return _columns(kernel.kernel, Z)
    if isinstance(kernel, Compound):
        return [column for part in kernel.kernels for column in _columns(part, Z)]
    if isinstance(kernel, Warped):
        inner = _columns(kernel.kernel, kernel.phi(Z))
        if inner:
            depends = (kernel.jacobian(Z[:LOOKED_AT])[1] != 0).any(0).T
            return [column for block in _behind([(i,) for i in inner], depends) for column in block]
    return []


def _behind(blocks: list[tuple[int, ...]], depends: Bool[Tensor, "d e"]) -> list[tuple[int, ...]]:
    """The raw columns on which the columns of each block depend."""
    behind = (depends[:, list(block)].any(1).nonzero()[:, 0].tolist() for block in blocks)
    return [tuple(columns) for columns in behind if columns]
