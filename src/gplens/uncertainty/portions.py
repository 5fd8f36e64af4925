"""Attributions and their spread for a table of inputs, portion by portion, so that progress can be shown and the work
can be interrupted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.attribute import attribute, rows_of_a_block
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution, Integral
from gplens.paths.integrand import Question, Rule
from gplens.paths.prior_part import Integrate
from gplens.paths.sampling import attribute_by_sampling
from gplens.uncertainty.answers import spread_of
from gplens.uncertainty.backgrounds import spread_over_background
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.share_coordinates import ShareCoordinates
from gplens.uncertainty.sums import NEXT_ROW, spread_of_sums
from gplens.uncertainty.switch_spreads import spread_of_switches

BLOCKS = 8
"""The number of blocks of a portion, which share their scratch memory."""
ROWS = 32
"""The most rows of a portion with error bars, which take milliseconds a row."""


@final
@dataclass(frozen=True, eq=False)
class Portion:
    """The results of the first `done` inputs; the other rows of the tensors are NaN or zero."""

    attribution: Attribution
    spread: Spread | None
    done: int
    interrupt: KeyboardInterrupt | None = None
    """The interrupt that ended the work early; None if it is complete."""

    @property
    def finished(self) -> Attribution:
        """The attributions of the finished inputs."""
        if self.done == len(self.attribution.end):
            return self.attribution
        return _attribution_of({name: part[: self.done] for name, part in _tensors(self.attribution).items()})


@final
@dataclass(frozen=True, eq=False)
class Work:
    """The question, the rule and the request for every input."""

    question: Question
    rule: Rule
    request: Uncertainty | None
    sets: Sequence[Sequence[int]] | None
    """Sets of features whose attributions are added up before their spread is computed; None for single features."""
    background: Background = Background()

    @property
    def integrate(self) -> Integrate:
        """The function that computes attributions: by quadrature, or with draws too."""
        return attribute if self.question.expectation.replicates is None else attribute_by_sampling

    def portions(self, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> int:
        """The number of portions in which the inputs are computed."""
        return 1 if len(x) == 1 else -(-len(x) // self._rows(baselines.shape[1]))

    def run(
        self,
        x: Float[Tensor, "b d"],
        baselines: Float[Tensor, "#b s d"],
        advance: Callable[[int], None] | None,
    ) -> Portion:
        """Compute all inputs, and call `advance` with the number of inputs of each finished portion.

        After a KeyboardInterrupt, return the finished portions, if there are any.
        """
        if len(x) == 1:
            return self._portion(x, baselines, 0)
        size, whole, done = self._rows(baselines.shape[1]), None, 0
        try:
            while done < len(x) or whole is None:
                rows = slice(done, done + size)
                part = self._portion(x[rows], baselines if len(baselines) == 1 else baselines[rows], done)
                count = len(part.attribution.end)
                whole = part if count == len(x) else _written(whole, part, done, len(x))
                done += count
                if advance is not None:
                    advance(count)
        except KeyboardInterrupt as interrupt:
            if whole is None or done == 0:
                raise
            return replace(whole, done=done, interrupt=interrupt)
        return replace(whole, done=done)

    def _rows(self, baselines: int) -> int:
        block = rows_of_a_block(self.question, baselines)
        return BLOCKS * block if self.request is None else min(BLOCKS * block, ROWS)

    def _portion(self, x: Float[Tensor, "p d"], baselines: Float[Tensor, "#p s d"], before: int) -> Portion:
        attribution = self.integrate(self.question, self.rule, x, baselines, self.background)
        request, spread = self.request, None
        if request is not None:
            if isinstance(request, Samples) and before:
                request = replace(request, seed=request.seed + NEXT_ROW * before)
            spread = self._spread(request, x, baselines, attribution.integral.values)
        return Portion(attribution, spread, len(x))

    def _spread(
        self,
        request: Uncertainty,
        x: Float[Tensor, "p d"],
        baselines: Float[Tensor, "#p s d"],
        values: Float[Tensor, "p o d"],
    ) -> Spread:
        """The spread of the attributions, or of their sums over sets of features."""
        at = ShareCoordinates.of(self.question, self.sets)
        x, baselines, values = at.points(x), at.points(baselines), at.values(values)
        background = replace(self.background, sets=at.sets)
        if at.question.switches is not None:
            return spread_of_switches(at.question, request, x, baselines, values, background)
        if baselines.shape[1] > 1:
            return spread_over_background(at.question, request, x, baselines, values, background)
        asked = (at.question, request, x, baselines[:, 0], values)
        return spread_of(*asked) if at.sets is None else spread_of_sums(*asked, at.sets)


def _written(whole: Portion | None, part: Portion, before: int, rows: int) -> Portion:
    """Write the results of a portion into their place in the results of all rows."""
    if whole is None:
        spread = None if part.spread is None else replace(part.spread, **_room(part.spread.tensors(), rows))
        whole = Portion(_attribution_of(_room(_tensors(part.attribution), rows)), spread, 0)
    _write(_tensors(whole.attribution), _tensors(part.attribution), before)
    if whole.spread is None or part.spread is None:
        return whole
    lost = whole.spread.tensors().keys() - part.spread.tensors().keys()  # float64 does not hold these covariances
    whole = replace(whole, spread=replace(whole.spread, **dict.fromkeys(lost)))
    assert whole.spread is not None
    _write(whole.spread.tensors(), part.spread.tensors(), before)
    return whole


def _room(tensors: dict[str, Tensor], rows: int) -> dict[str, Tensor]:
    """Tensors for all rows."""
    return {
        name: part.new_full((rows, *part.shape[1:]), torch.nan if part.is_floating_point() else 0)
        for name, part in tensors.items()
    }


def _write(whole: dict[str, Tensor], part: dict[str, Tensor], before: int) -> None:
    for name, tensor in whole.items():
        tensor[before : before + len(part[name])] = part[name]


def _tensors(attribution: Attribution) -> dict[str, Tensor]:
    """The tensors of an attribution and its integral, by name."""
    i, a = attribution.integral, attribution
    named = {"values": i.values, "error": i.error, "nodes": i.nodes, "converged": i.converged}
    named |= {"start": a.start, "end": a.end}
    named |= {"standard_error": a.standard_error, "background_std": a.background_std}
    return {name: part for name, part in named.items() if part is not None}


def _attribution_of(tensors: dict[str, Tensor]) -> Attribution:
    integral = Integral(tensors["values"], tensors.get("error"), tensors["nodes"], tensors.get("converged"))
    others = tensors.get("standard_error"), tensors.get("background_std")
    return Attribution(integral, tensors["start"], tensors["end"], *others)
