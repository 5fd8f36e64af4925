"""Attributions of a table of inputs: paths in blocks of rows, averaged over the baselines of each input."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.scratch import Scratch
from gplens.paths.averaging import Background
from gplens.paths.blocks import numbers_of_a_path, numbers_on_a_line, rows_in_a_block
from gplens.paths.gradient import PathGradient
from gplens.paths.integrand import Integral, Question, Rule
from gplens.paths.share_gradient import ShareGradient
from gplens.paths.switching import SwitchingGradient
from gplens.paths.threads import balanced, in_order

TIGHTENINGS = 3
"""How often a background is integrated again, to a smaller tolerance, if its average is smaller than its members."""
FIRST_NODES = 17
"""Nodes of the first attempt at a typical path, with its ends."""
CHANNELS = 3
"""Sums of a nested rule."""


@final
@dataclass(frozen=True)
class Attribution:
    """Integrals over paths, and the targets at both ends."""

    integral: Integral
    start: Float[Tensor, "b o"]
    """T(x0)."""
    end: Float[Tensor, "b o"]
    """T(x)."""
    standard_error: Float[Tensor, "b o d"] | None = None
    """Of the values, if they are averages over draws."""
    background_std: Float[Tensor, "b o g"] | None = None
    """The deviation of the values over the rows of a background (4.12); None for a single baseline."""

    @property
    def gap(self) -> Float[Tensor, "b o"]:
        """sum_k IG_k - (T(x) - T(x0))  (4.4)."""
        return self.integral.values.sum(2) - (self.end - self.start)

    def largest(self) -> Float[Tensor, "b o"]:
        """The larger of |T(x) - T(x0)| and the largest |attribution|, to which tolerances are relative (4.8)."""
        return torch.maximum((self.end - self.start).abs(), self.integral.values.abs().amax(2))


def attribute(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background = Background(),
) -> Attribution:
    """The attributions of all inputs, each the average over its s baselines, in blocks of rows.

    Blocks are computed on as many threads as torch uses, unless derivatives come from autograd of a user's functions.
    """
    block = rows_of_a_block(question, baselines.shape[1])
    if x.shape[0] <= block:
        return _averaged_over_baselines(question, rule, x, baselines, background, Scratch())
    threads = 1 if question.process.autograd else torch.get_num_threads()
    block = balanced(x.shape[0], block, threads)
    baseline_blocks = [baselines] * -(-x.shape[0] // block) if baselines.shape[0] == 1 else baselines.split(block)

    def averages(rows: tuple[Tensor, Tensor], scratch: Scratch) -> Attribution:
        return _averaged_over_baselines(question, rule, *rows, background, scratch)

    blocks = zip(x.split(block), baseline_blocks, strict=True)
    return _written_in_place(in_order(averages, blocks, min(threads, len(baseline_blocks))), x.shape[0])


def rows_of_a_block(question: Question, baselines: int) -> int:
    """So many rows that their first nodes, and their integrals, fit into a block."""
    process, outputs = question.process, len(question.outputs)
    numbers = numbers_on_a_line(process, FIRST_NODES, CHANNELS * outputs)
    return rows_in_a_block(baselines * max(numbers, numbers_of_a_path(process.features, outputs)))


def _averaged_over_baselines(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background,
    scratch: Scratch,
) -> Attribution:
    s = baselines.shape[1]
    if s == 1:
        return _integrated(question, rule, x, baselines[:, 0], scratch)
    x0, x = baselines.expand(x.shape[0], -1, -1).flatten(0, 1), x.repeat_interleave(s, 0)
    paths, tolerance = _integrated(question, rule, x, x0, scratch), question.tolerance
    average = _averaged(paths, s, background)
    for _ in range(TIGHTENINGS):
        excess, reached = _excess(average, question.tolerance), _excess(paths, 1.0)
        if excess is None or reached is None or float(excess.max()) <= 1 or not rule.adaptive:
            break
        tolerance = max(min(tolerance, float(reached.max())) / (2 * float(excess.max())), 1e-14)
        paths = _integrated(replace(question, tolerance=tolerance), rule, x, x0, scratch)
        average = _averaged(paths, s, background)
    return _with_convergence(average, question.tolerance)


def _integrated(
    question: Question, rule: Rule, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"], scratch: Scratch
) -> Attribution:
    changed = None if question.switches is None else question.switches.changed(x0, x).any(1)
    if question.switches is None or changed is None or not bool(changed.any()):
        gradient = PathGradient(question, x0, x, scratch)
    elif bool(changed.all()):
        kind = SwitchingGradient if question.shares is None else ShareGradient
        gradient = kind(question, x0, x, scratch)
    else:
        return _merged(question, rule, x, x0.expand_as(x), changed, scratch)
    return Attribution(rule.integrate(gradient, question.tolerance), gradient.start, gradient.end)


def _merged(question: Question, rule: Rule, x: Tensor, x0: Tensor, chosen: Tensor, scratch: Scratch) -> Attribution:
    """The chosen paths, which change categories, and the others, which are straight lines, apart from each other."""
    first, second = (_integrated(question, rule, x[rows], x0[rows], scratch) for rows in (chosen, ~chosen))
    whole = _like(first, len(x))
    for target, *parts in zip(_tensors(whole), _tensors(first), _tensors(second), strict=True):
        target[chosen], target[~chosen] = parts
    return whole


def _averaged(attribution: Attribution, s: int, background: Background) -> Attribution:
    """The mean over the s baselines of each input, and the deviation from it (4.12)."""

    def by_input(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (-1, s))

    integral, mean = attribution.integral, background.mean
    averaged = Integral(
        mean(by_input(integral.values)),
        None if integral.error is None else mean(by_input(integral.error)),
        by_input(integral.nodes).sum(1),
        None if integral.converged is None else by_input(integral.converged).all(1),
    )
    start, end = (mean(by_input(target)) for target in (attribution.start, attribution.end))
    return Attribution(averaged, start, end, background_std=background.deviation(by_input(integral.values)))


def _excess(attribution: Attribution, tolerance: float) -> Float[Tensor, " b"] | None:
    """The largest error of each input relative to what is allowed; None without an error estimate."""
    if attribution.integral.error is None:
        return None
    ratio = attribution.integral.error / (tolerance * attribution.largest()[..., None])
    return ratio.nan_to_num(nan=0.0, posinf=torch.inf).flatten(1).amax(1)


def _with_convergence(attribution: Attribution, tolerance: float) -> Attribution:
    """Converged where every path is, and the average meets the tolerance too."""
    excess, integral = _excess(attribution, tolerance), attribution.integral
    if excess is None or integral.converged is None:
        return attribution
    return replace(attribution, integral=replace(integral, converged=integral.converged & (excess <= 1)))


def _written_in_place(blocks: Iterator[Attribution], rows: int) -> Attribution:
    """Blocks of rows as one result, each block written to its place, so that the result never exists twice."""
    whole, done = None, 0
    for block in blocks:
        whole, size = whole or _like(block, rows), block.end.shape[0]
        for target, tensor in zip(_tensors(whole), _tensors(block), strict=True):
            target[done : done + size] = tensor
        done += size
    assert whole is not None
    return whole


def _like(block: Attribution, rows: int) -> Attribution:
    """An empty result for `rows` rows."""

    def room(tensor: Tensor) -> Tensor:
        return tensor.new_empty(rows, *tensor.shape[1:])

    integral = block.integral
    error, converged = (None if part is None else room(part) for part in (integral.error, integral.converged))
    empty = Integral(room(integral.values), error, room(integral.nodes), converged)
    std = None if block.background_std is None else room(block.background_std)
    return Attribution(empty, room(block.start), room(block.end), background_std=std)


def _tensors(attribution: Attribution) -> list[Tensor]:
    integral, ends = attribution.integral, (attribution.start, attribution.end, attribution.background_std)
    parts = integral.values, integral.error, integral.nodes, integral.converged, *ends
    return [part for part in parts if part is not None]
