"""The computations of a call, in portions of rows: attributions, error bars, support, channels."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.calls.given_table import Given
from gplens.calls.posed import LiveModel, Posed
from gplens.display.progress import showing
from gplens.explanation.channels import Channels
from gplens.explanation.channels_of_paths import channels_of_paths
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support
from gplens.explanation.support_of_paths import support_of_paths
from gplens.explanation.support_warning import LOW, warn_of_low_support
from gplens.paths.attribute import attribute, rows_of_a_block
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution
from gplens.paths.integrand import Question, Rule
from gplens.paths.prior_part import Integrate
from gplens.paths.sampling import attribute_by_sampling
from gplens.processes.prior_variances import support_at_places
from gplens.uncertainty.across_rows import draw_across_rows
from gplens.uncertainty.answers import spread_of
from gplens.uncertainty.backgrounds import spread_over_background
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.share_coordinates import ShareCoordinates
from gplens.uncertainty.sums import NEXT_ROW, spread_of_sums
from gplens.uncertainty.switch_spreads import spread_of_switches

Points = tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]
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
        return Attribution.of({name: part[: self.done] for name, part in self.attribution.tensors().items()})


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
        whole = Portion(Attribution.of(_room(part.attribution.tensors(), rows)), spread, 0)
    _write(whole.attribution.tensors(), part.attribution.tensors(), before)
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


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """The results of a call. After an interrupt, some inputs or parts are missing."""

    answer: Portion
    spread: Spread | None
    support: Support | None
    channels: Channels | None
    interrupt: KeyboardInterrupt | None

    @staticmethod
    def of(
        posed: Posed, live: LiveModel, given: Given, rule: Rule, support: bool | None, progress: bool | None
    ) -> "Outcome":
        """Compute everything that was requested. After Ctrl-C, return what is finished."""
        work = Work(posed.question, rule, posed.request, posed.sets, Background(given.baseline.weights, given.summed))
        shown = work.portions(*given.ends) > 1 if progress is None else progress
        with showing(len(given.X), progress) if shown else nullcontext() as advance:
            answer = work.run(*given.ends, advance)
        at, spread, trust, channels = given.first(answer.done), answer.spread, None, None
        try:
            if posed.joint is not None and spread is not None and answer.interrupt is None:
                spread = _joint_over_inputs(posed, work, spread, at, answer.attribution)
            if support:
                trust = _support(posed, work, at, answer.finished)
            elif support is None and live.reading.acquisition is None:
                known = live.compared_at if posed.question.process is live.reading.process else None
                places = support_at_places(posed.question.process, *_with_own_categories(posed.question, at), known)
                if places is not None and bool((places < LOW).any()):
                    warn_of_low_support(places)
            if posed.channels and answer.interrupt is None:
                values = answer.attribution.integral.values
                channels = channels_of_paths(posed.question, rule, *at, work.background, values)
        except KeyboardInterrupt as interrupt:  # the attributions are complete, support and channels may not be
            return Outcome(answer, spread, trust, channels, interrupt)
        return Outcome(answer, spread, trust, channels, answer.interrupt)


def _joint_over_inputs(posed: Posed, work: Work, spread: Spread, at: Points, attribution: Attribution) -> Spread:
    """The spread with draws of one latent function for all inputs."""
    assert posed.joint is not None
    shares, values = posed.shares, posed.shares.values(attribution.integral.values)
    points = shares.points(at[0]), shares.points(at[1])
    draws = draw_across_rows(shares.question, posed.joint, *points, work.background.shares, values, shares.sets)
    return replace(spread, draws=draws, joint_draws=True, across_rows=True)


def _support(posed: Posed, work: Work, at: Points, attribution: Attribution) -> Support:
    """The support along the paths, which are in numbers and shares of categories if they change categories."""
    shares = posed.shares
    if shares.question.switches is not None:
        raise ValueError(
            "expected paths that change no category for support=True, or a target that is linear in the latent "
            "function of a model whose kernel is a product over its categories, got others; give each input a baseline "
            "with its own categories, or leave support=True out."
        )
    values = shares.values(attribution.integral.values)
    attribution = replace(attribution, integral=replace(attribution.integral, values=values))
    points = shares.points(at[0]), shares.points(at[1])
    trust = support_of_paths(shares.question, work.rule, work.integrate, *points, work.background, attribution)
    assert trust.prior_part is not None
    prior = shares.summed(trust.prior_part)
    return replace(trust, prior_part=prior, data_part=shares.summed(values) - prior)


def _with_own_categories(question: Question, at: Points) -> Points:
    """The same paths with the categories of each input kept constant."""
    X, baselines = at
    return X, baselines if question.switches is None else question.switches.held(baselines, X[:, None])
