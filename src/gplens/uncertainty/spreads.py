"""The spread of a table of attributions, with as many nodes on each path as it needs (MATH 5)."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link
from gplens.explanation.spread import Spread
from gplens.lines.line import Line
from gplens.paths.integrand import Question
from gplens.uncertainty.draws import check_size, deviations, draw
from gplens.uncertainty.grid import REACH, levels_from
from gplens.uncertainty.latent_paths import PathDraws
from gplens.uncertainty.refinement import Refinement
from gplens.uncertainty.requests import Full, Samples, Uncertainty

ORDERS = (4, 7, 10, 15, 22)
"""The orders of the Gauss-Kronrod rules for draws: the first for attributions that are linear in the latent function,
the second for those through a link; all of them, one after the other, if the deviations come from draws."""
TINY = torch.finfo(torch.float64).tiny
"""Below this size, numbers have no relative accuracy."""


@final
@dataclass(frozen=True)
class SpreadQuestion:
    """The question and the request for a spread. The outputs are not averages over draws of hyper-parameters."""

    question: Question
    request: Uncertainty

    @property
    def links(self) -> tuple[Link | None, ...]:
        """The links of the outputs that depend on one latent function each; None for other outputs."""
        return tuple(self.question.expectation.link_of(output) for output in self.question.outputs)

    @property
    def closed_form(self) -> bool:
        """Whether each output has its own link, with exact covariances."""
        return all(link is not None and link.has_pair_moments for link in self.links)

    @property
    def drawn_together(self) -> bool:
        """Whether the outputs share latent functions."""
        return self.question.process.sources() is not None or None in self.links

    @property
    def gaussian(self) -> bool:
        """Whether the attributions are linear in the latent functions."""
        return all(link is not None and not link.needs_variance for link in self.links)

    def check(self) -> None:
        """Refuse a request that cannot be computed, before anything is computed."""
        process, expectation, outputs = self.question.process, self.question.expectation, self.question.outputs
        zero = torch.zeros(process.latents, 1, dtype=torch.float64)
        expectation.slopes(zero[None], zero, outputs)
        if isinstance(self.request, Full) and not self.closed_form:
            raise ValueError(
                "expected outputs with a smooth link of their own for Full() and groups=, got "
                f"{expectation!r}, whose covariances have no closed form. Use Diagonal() for standard deviations, or "
                "Samples(count, seed), whose draws are joint."
            )
        if isinstance(self.request, Samples) and self.request.joint:
            check_size(len(outputs) if self.drawn_together else 1, process.features)

    def answer(self, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"], values: Float[Tensor, "b o d"]) -> Spread:
        """The spread of the attributions `values`, with an axis of outputs."""
        baselines = x0.expand_as(x)
        if self.closed_form:
            spread, order = _closed_form(self, x, x0), [ORDERS[0 if self.gaussian else 1]] * len(x)
        else:
            spread, order = _by_draws(self, x, baselines, values)
        if not isinstance(self.request, Samples):
            return replace(spread, gaussian=self.gaussian)
        if spread.draws is not None:
            return replace(spread, gaussian=self.gaussian, joint_draws=False)
        rows = [self._draws(self.request, x[i], baselines[i], order[i], i) for i in range(len(x))]
        return replace(spread, gaussian=self.gaussian, draws=torch.stack(rows), joint_draws=self.request.joint)

    def _draws(self, request: Samples, x: Tensor, x0: Tensor, order: int, row: int) -> Float[Tensor, "s o d"]:
        """The draws of one input; outputs that share no latent function are drawn one by one."""
        if self.drawn_together:
            return draw(PathDraws.on(self.question, x0, x, order, full=request.joint), request, row)
        parts = []
        for output in self.question.outputs:
            process, expectation, outputs = self.question.expectation.narrowed(self.question.process, (output,))
            alone = replace(self.question, process=process, expectation=expectation, outputs=outputs)
            parts.append(draw(PathDraws.on(alone, x0, x, order, full=request.joint), request, row, output))
        return torch.cat(parts, dim=1)


def _closed_form(asked: SpreadQuestion, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"]) -> Spread:
    """Covariances, or variances, in blocks of rows with equally many panels and the same first level."""
    full, process, d = asked.request.covariances, asked.question.process, x - x0
    shape = (len(x), len(asked.question.outputs), *x.shape[1:] * (2 if full else 1))
    std, error, covariances = x.new_empty(shape[:3]), x.new_empty(shape[:3]), x.new_empty(shape) if full else None
    converged = torch.zeros(len(x), dtype=torch.bool)
    length = process.length(Line(x0, d, x.new_zeros(len(x), 0)))
    panels = (length / REACH).ceil().clamp(min=1).long()
    first = levels_from(length / panels, asked.request.accuracy, smooth=process.smooth)
    for count, level in torch.stack([panels, first], dim=1).unique(dim=0).tolist():
        every_row = ((panels == count) & (first == level)).nonzero()[:, 0]
        refinement = Refinement(process, asked.question.outputs, asked.links, asked.request, count, level)
        for rows in every_row.split(refinement.rows_in_a_block):
            result = refinement.run(x0 if len(x0) == 1 else x0[rows], d[rows], length[rows])
            std[rows], error[rows], converged[rows] = result.std, result.error, result.converged
            if covariances is not None and result.covariance is not None:
                covariances[rows] = result.covariance
    if covariances is not None and _lost(covariances, std):
        _refuse(asked.request, std)
        covariances = None
    return Spread(std, error=error, covariance=covariances, converged=converged)


def _lost(covariances: Float[Tensor, "b o d d"], std: Float[Tensor, "b o d"]) -> bool:
    """Whether the squares of the deviations are outside the range of float64."""
    largest = std.amax(2) if std.shape[2] else std.new_zeros(std.shape[:2])
    too_small = (largest > 0) & (largest < (TINY / torch.finfo(std.dtype).eps) ** 0.5)
    return bool(too_small.any()) or not bool(covariances.isfinite().all())


def _refuse(request: Uncertainty, std: Float[Tensor, "b o d"]) -> None:
    """Raise an error if float64 cannot hold the requested covariances. Draws work without them."""
    if isinstance(request, Full):
        raise OverflowError(
            "expected standard deviations between 1e-146 and 1e154, whose squares float64 can hold, got some from "
            f"{float(std.min()):.0e} to {float(std.max()):.0e}. Pass uncertainty=gplens.Diagonal(), or change the "
            "units of the target."
        )


def _by_draws(
    asked: SpreadQuestion, x: Float[Tensor, "b d"], x0: Float[Tensor, "b d"], values: Float[Tensor, "b o d"]
) -> tuple[Spread, list[int]]:
    """Deviations of outputs of several latent functions, input by input, with more nodes until the draws dominate.

    Draws that are not joint reuse the latent paths, which are the expensive part.
    """
    orders, rows, draws, request = [], [], [], asked.request
    for i in range(len(x)):
        level = 0
        while True:
            paths = PathDraws.on(asked.question, x0[i], x[i], ORDERS[level], full=False)
            std, std_error, change = deviations(paths, values[i], seed=0)  # one seed, whatever the order of the inputs
            limit = torch.maximum(std_error.amax(1), request.accuracy * std.amax(1))
            settled = bool((change.amax(1) <= limit).all())
            if settled or level == len(ORDERS) - 1:
                break
            level += 1
        orders.append(ORDERS[level])
        rows.append((std, std_error, torch.tensor(settled)))
        if isinstance(request, Samples) and not request.joint and asked.drawn_together:
            draws.append(draw(paths, request, i))
    std, std_error, settled = (torch.stack(parts) for parts in zip(*rows, strict=True))
    spread = Spread(std, std_error, draws=torch.stack(draws) if draws else None, converged=settled)
    return spread, orders
