"""The computations of a call, in portions of rows: attributions, error bars, support, channels."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.calls.given_table import Given
from gplens.calls.portions import Portion, finished, written
from gplens.calls.posed import LiveModel, Posed
from gplens.display.progress import showing
from gplens.explanation.channels import Channels
from gplens.explanation.channels_of_paths import channels_of_paths
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support
from gplens.explanation.support_of_paths import support_of_paths
from gplens.explanation.support_warning import LOW, warn_of_low_support
from gplens.lines.line import Line
from gplens.paths.attribute import attribute, rows_of_a_block
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution
from gplens.paths.integrand import Question, Rule
from gplens.paths.path_psi import NodeValues
from gplens.paths.prior_part import Integrate
from gplens.paths.sampling import attribute_by_sampling
from gplens.processes.process import Marginals, Process, support_of
from gplens.uncertainty.across_rows import draw_across_rows
from gplens.uncertainty.asked_spreads import asked_spread
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.share_coordinates import ShareCoordinates
from gplens.uncertainty.sums import NEXT_ROW

Points = tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]
BLOCKS = 8
"""The number of blocks of a portion, which share their scratch memory."""
ROWS = 32
"""The most rows of a portion with error bars, which take milliseconds a row."""
PATHS = 16
"""The most paths whose support is checked by every call, at three points each."""


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
                whole = part if count == len(x) else written(whole, part, done, len(x))
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
            shares, values = ShareCoordinates.of(self.question, self.sets), attribution.integral.values
            spread = asked_spread(shares, request, x, baselines, values, self.background)
        return Portion(attribution, spread, len(x))


@final
@dataclass(frozen=True, eq=False)
class Results:
    """The results of a call. After an interrupt, some inputs or parts are missing."""

    answer: Portion
    spread: Spread | None
    support: Support | None
    channels: Channels | None
    interrupt: KeyboardInterrupt | None

    @property
    def finished(self) -> Attribution:
        """The attributions of the finished inputs."""
        answer = self.answer
        return answer.attribution if answer.done == len(answer.attribution.end) else finished(answer)

    @staticmethod
    def of(
        posed: Posed, live: LiveModel, given: Given, rule: Rule, support: bool | None, progress: bool | None
    ) -> "Results":
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
                trust = _support(posed, work, at, finished(answer))
            elif support is None and live.reading.acquisition is None:
                at_compared = live.compared_at if posed.question.process is live.reading.process else None
                places = support_at_places(posed.question, *at, at_compared)
                if places is not None and bool((places < LOW).any()):
                    warn_of_low_support(places)
            if posed.channels and answer.interrupt is None:
                values = answer.attribution.integral.values
                channels = channels_of_paths(posed.question, rule, *at, work.background, values)
        except KeyboardInterrupt as interrupt:  # the attributions are complete, support and channels may not be
            return Results(answer, spread, trust, channels, interrupt)
        return Results(answer, spread, trust, channels, answer.interrupt)


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


def support_at_places(
    question: Question, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], marginals: Marginals | None
) -> Float[Tensor, "k 3"] | None:
    """The support at the baseline, the middle and the input of some paths, averaged over the baselines of each input.

    Paths keep the categories of their inputs. None if the prior is not known. `marginals` are those at some inputs,
    at the baseline if there is a single one, and half-way to these inputs.
    """
    if question.switches is not None:
        baselines = question.switches.held(baselines, x[:, None])
    if marginals is not None and len(x) == len(baselines) == baselines.shape[1] == 1:
        return _support_of_one_path(question.process, x, baselines[0], marginals)
    s = min(baselines.shape[1], PATHS)
    rows, members = _spaced(len(x), max(1, PATHS // s)), _spaced(baselines.shape[1], s)
    starts, ends = (baselines if len(baselines) == 1 else baselines[rows])[:, members], x[rows][:, None]
    if marginals is not None and len(x) > 1 and len(baselines) == baselines.shape[1] == 1:
        return _support_from_shared_baseline(question.process, ends[:, 0], starts[0], marginals)
    places = torch.stack(torch.broadcast_tensors(ends, starts, (starts + ends) / 2))
    support = question.process.support_along(Line.at(places.flatten(0, 2)))
    return None if support is None else support.amin((1, 2)).unflatten(0, places.shape[:3]).mean(2).T[:, [1, 2, 0]]


def _support_of_one_path(
    process: Process, x: Float[Tensor, "1 d"], x0: Float[Tensor, "1 d"], marginals: Marginals
) -> Float[Tensor, "1 3"] | None:
    """The same for a single path, whose marginals are known at its end, its beginning and half-way."""
    prior = process.prior_variance(torch.cat([x, x0, (x + x0) / 2]))
    return None if prior is None else support_of(prior, marginals.v[:, :, 0]).amin(1).roll(-1)[None]


def _support_from_shared_baseline(
    process: Process, x: Float[Tensor, "k d"], x0: Float[Tensor, "1 d"], marginals: Marginals
) -> Float[Tensor, "k 3"] | None:
    """The same for paths from one baseline, where the marginals are known."""
    rest = process.support_along(Line.at(torch.cat([(x + x0) / 2, x])))
    if rest is None:
        return None
    middle = slice(len(marginals.v) // 2, len(marginals.v) // 2 + 1)  # between as many inputs and points half-way
    start = process.support_along(Line.at(x0), NodeValues(marginals.m[middle], marginals.v[middle]))
    assert start is not None
    return torch.stack([start.amin().expand(len(x)), *rest.amin((1, 2)).chunk(2)], dim=1)


def _spaced(count: int, most: int) -> Tensor:
    """At most so many evenly spaced positions among `count`."""
    return torch.linspace(0, count - 1, min(count, most)).long()
