"""The Gaussian expectation of the softmax and its derivatives, exactly (3.2) to (3.4).

`plan` chooses a grid for every element; `block` evaluates elements with the same grid together and measures the error
of their integrals. This module sorts the elements into blocks, repeats those that miss the tolerance, and joins them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.softmax.arguments import Argument, check_marginals, check_tolerance
from gplens.expectations.softmax.block import Block, Jacobian, evaluate
from gplens.expectations.softmax.plan import Plan, plan

ROUNDS = 8
"""Attempts per element, each with a step 0.7 times that of the one before. At most three were seen by
`scripts/softmax_constants.py stress`."""

BLOCK = 64_000
"""Numbers in each of L, L', L'' of a block of 40 nodes: 512 kB, which fits into the second-level cache. Recipe:
scripts/softmax_constants.py edges; flat within 15 % from 40,000 to 160,000, half as fast at 10,000."""


@final
@dataclass(frozen=True)
class SoftmaxMoments:
    """E softmax(f) of e elements, with what its derivatives need: 2 e C S numbers, usually S = 25 to 50."""

    value: Float[Tensor, "e c"]
    blocks: tuple[Block, ...]

    def jacobian(self) -> tuple[Jacobian, Jacobian]:
        """d E S_c/dm_j and d E S_c/dv_j at [element, c, j]. Cost O(C^2 S) per element."""
        (e, c), every = self.value.shape, torch.arange(self.value.shape[1])
        by_m, by_v = (self.value.new_empty(e, c, c) for _ in range(2))
        for block in self.blocks:
            by_m[block.rows], by_v[block.rows] = block.derivatives(every)
        return by_m, by_v


def softmax_moments(m: Argument, v: Argument, *, tolerance: float = 1e-9) -> SoftmaxMoments:
    """E softmax(f), f_j ~ N(m_j, v_j) independent, by (3.2); absolute error below tolerance, derivatives too.

    m, v: (e, c) float64. Holds for C = 2 to 1000 and v = 0 to 400 and beyond, in any combination. Probabilities sum to
    one and derivatives to zero over the classes, up to rounding. The sum before normalisation and the closure are
    measured, and an element that misses the tolerance is refined (an ArithmeticError if that does not help). Autograd
    does not record it: `jacobian` returns the derivatives.
    """
    check_marginals(m, v)
    m, v = m.detach(), v.detach()
    parts = tuple(integrate(m, v, tolerance))
    value = torch.empty_like(m)
    for block in parts:
        value[block.rows] = block.value
    return SoftmaxMoments(value, parts)


def derivatives(
    m: Argument, v: Argument, outputs: Sequence[int], *, tolerance: float = 1e-9
) -> tuple[Float[Tensor, "e c"], Float[Tensor, "e o c"], Float[Tensor, "e o c"]]:
    """E softmax(f), and d E S_c/dm_j, d E S_c/dv_j of some classes c, with one block in memory at a time."""
    check_marginals(m, v)
    m, v, chosen = m.detach(), v.detach(), torch.as_tensor(outputs)
    value = torch.empty_like(m)
    by_m, by_v = (m.new_empty(len(m), len(chosen), m.shape[1]) for _ in range(2))
    for block in integrate(m, v, tolerance):
        value[block.rows] = block.value
        by_m[block.rows], by_v[block.rows] = block.derivatives(chosen)
    return value, by_m, by_v


def integrate(m: Float[Tensor, "e c"], v: Float[Tensor, "e c"], tolerance: float) -> Iterator[Block]:
    """Blocks whose defects are below the tolerance; elements that miss it are repeated on a finer grid."""
    check_tolerance(tolerance)
    todo = plan(m, v, tolerance / 10)
    for _ in range(ROUNDS):
        missed = []
        for part in partition(todo, m.shape[1]):
            block = evaluate(part, tolerance)
            good = block.defect <= tolerance / 4
            missed.append(part.select(~good))
            yield block.select(good)
        todo = join([part for part in missed if len(part.rows)])
        if todo is None:
            return
        todo = todo.refine()
    raise ArithmeticError(
        f"expected the softmax integrals to reach the tolerance {tolerance:g} in {ROUNDS} attempts, got "
        f"{len(todo.rows)} of {len(m)} elements that did not. Pass a larger tolerance, or report m and v."
    )


def join(parts: list[Plan]) -> Plan | None:
    """Several plans as one; None if there are none."""
    if not parts:
        return None
    return Plan(*(torch.cat([getattr(part, field.name) for part in parts]) for field in fields(Plan)))


def partition(todo: Plan, classes: int) -> Iterator[Plan]:
    """Blocks of elements with the same grid, that of the kind to which their own grid belongs."""
    todo, kinds = todo.snapped()
    kind, counts = torch.unique(kinds, return_inverse=True, return_counts=True)[1:]
    size = max(1, BLOCK // (40 * classes))
    for alike in torch.argsort(kind, stable=True).split(counts.tolist()):
        for index in alike.split(size):
            yield todo.select(index)
