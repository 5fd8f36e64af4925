"""Paths from baselines to inputs, integrated by a rule in blocks of rows, and averaged over baselines.

`Adaptive` is the rule unless the user chooses another one.
"""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line, Scratch
from gplens.paths.adaptive import STATED, STATED_OF_ROUGH, OnPanels
from gplens.paths.averaging import Background, averaged
from gplens.paths.gradient import PathGradient
from gplens.paths.integrals import Attribution, Integral, empty_like, written_in_place
from gplens.paths.integrand import Integrand, Question, Rule, Targets, targets_on
from gplens.paths.share_gradient import ShareGradient
from gplens.paths.switching import SwitchingGradient
from gplens.processes.process import numbers_on_a_line, rows_in_a_block

FIRST_NODES = 2
"""The number of nodes per row that the size of a block assumes."""
CHANNELS = 3
"""Sums of a nested rule."""
SUMS = 10
"""Numbers that a path holds for each feature and output: x - x0, the sums of two rules, and finished results."""
NODES = 48
"""Numbers that the nodes of a path and their weights take: three for each of sixteen nodes."""


@final
@dataclass(frozen=True)
class Adaptive(Rule):
    """Gauss-Kronrod on panels, until the estimated error of every feature of every path is within the tolerance (4.9).

    The error of a panel is |Kronrod - Gauss|, which estimates the error of the lower rule, times the gain of the higher
    rule (4.9a). The first panels are at most `reach` lengthscales long, so that no bump of a kernel is missed.

    Raises:
        ValueError: if `reach` is not above zero, or `panels` is below one.

    Example:
        >>> rule = gplens.rules.Adaptive(reach=1.0)  # looks harder than the default
        >>> bool(gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), rule=rule).converged.all())
        True
    """

    adaptive: ClassVar[bool] = True
    reach: float = 6.0
    panels: int = 4096
    """The most panels of a path in one round. A path that needs more is reported as not converged."""

    def __post_init__(self) -> None:
        if not (self.reach > 0 and self.panels >= 1):
            raise ValueError(f"Adaptive: expected reach > 0 and panels >= 1, got {self.reach} and {self.panels}.")

    def integrate(self, integrand: Integrand, tolerance: float) -> Integral:
        """Whole paths where one rule suffices, panels where it does not."""
        whole = integrand.whole_paths(tolerance, self.reach)
        if whole is None:
            return OnPanels(self.reach, self.panels).integrate(integrand, tolerance)
        limit = integrand.allowed_error(whole.values, tolerance) if whole.limit is None else whole.limit
        smallest = (STATED if integrand.smooth else STATED_OF_ROUGH) * limit[..., None]
        error = torch.maximum(whole.error, smallest * (whole.error > 0))
        if whole.limit is not None:
            return Integral(whole.values, error, whole.nodes, torch.ones_like(whole.uninformed), whole.error)
        missed = (whole.worst > limit).any(1)
        integral = Integral(whole.values, error, whole.nodes, ~missed, whole.error)
        if not bool(missed.any()):
            return integral
        on_panels = OnPanels(self.reach, self.panels).integrate(integrand.take(missed.nonzero()[:, 0]), tolerance)
        return integral.replaced(missed, on_panels)


def attribute(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background = Background(),
) -> Attribution:
    """The attributions of all inputs, each the average over its s baselines, in blocks of rows.

    Blocks follow one another, with the same scratch memory, and their operations use the threads of torch.
    """
    rows, most, scratch = x.shape[0], rows_of_a_block(question, baselines.shape[1]), Scratch()
    if rows <= most:
        return _over_baselines(question, rule, x, baselines, background, scratch)
    block = -(-rows // -(-rows // most))  # all blocks of one size, so that the last one is not small
    starts = [baselines] * -(-rows // block) if len(baselines) == 1 else baselines.split(block)
    blocks = zip(x.split(block), starts, strict=True)
    done = (_over_baselines(question, rule, *points, background, scratch) for points in blocks)
    return written_in_place(done, rows)


def rows_of_a_block(question: Question, baselines: int) -> int:
    """The number of rows whose first nodes and whose integrals fit into a block."""
    process, outputs = question.process, len(question.outputs)
    numbers = numbers_on_a_line(process, FIRST_NODES, CHANNELS * outputs)
    return rows_in_a_block(baselines * max(numbers, numbers_of_a_path(process.features, outputs)))


def numbers_of_a_path(features: int, outputs: int) -> int:
    """Numbers that the integral over one path holds, whatever the process."""
    return SUMS * features * outputs + NODES


def _over_baselines(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background,
    scratch: Scratch,
) -> Attribution:
    if baselines.shape[1] == 1:
        attribution = _integrated(question, rule, x, baselines[:, 0], scratch)
        return replace(attribution, integral=replace(attribution.integral, estimate=None))
    (b, d), s = x.shape, baselines.shape[1]
    targets = None if len(baselines) > 1 or question.switches is not None else _targets(question, x, baselines[0])
    x0, x = baselines.expand(b, -1, -1).reshape(b * s, d), x.repeat_interleave(s, 0)

    def integrate(paths: Int[Tensor, " k"] | slice, tolerance: float) -> Attribution:
        ends = None if targets is None else (targets[0][paths], targets[1][paths])
        return _integrated(replace(question, tolerance=tolerance), rule, x[paths], x0[paths], scratch, ends)

    return averaged(integrate, s, background, question.tolerance, refine=rule.adaptive)


def _targets(question: Question, x: Float[Tensor, "i d"], baselines: Float[Tensor, "s d"]) -> Targets:
    """T at the ends of the paths from all baselines to all inputs; an end that many paths share is evaluated once."""
    end, start = (targets_on(question, Line.at(points)) for points in (x, baselines))
    return end.repeat_interleave(len(baselines), 0), start.repeat(len(x), 1)


def _integrated(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    x0: Float[Tensor, "#b d"],
    scratch: Scratch,
    targets: Targets | None = None,
) -> Attribution:
    changed = None if question.switches is None else question.switches.changed(x0, x).any(1)
    if question.switches is None or changed is None or not bool(changed.any()):
        gradient = PathGradient(question, x0, x, scratch, targets=targets)
    elif bool(changed.all()):
        kind = SwitchingGradient if question.shares is None else ShareGradient
        gradient = kind(question, x0, x, scratch)
    else:
        return _merged(question, rule, x, x0.expand_as(x), changed, scratch)
    return Attribution(rule.integrate(gradient, question.tolerance), gradient.start, gradient.end)


def _merged(question: Question, rule: Rule, x: Tensor, x0: Tensor, chosen: Tensor, scratch: Scratch) -> Attribution:
    """Integrate the paths that change categories and the other ones, which are straight lines, separately."""
    first, second = (_integrated(question, rule, x[rows], x0[rows], scratch) for rows in (chosen, ~chosen))
    whole = empty_like(first, len(x))
    for name, target in whole.tensors().items():
        target[chosen], target[~chosen] = first.tensors()[name], second.tensors()[name]
    return whole
