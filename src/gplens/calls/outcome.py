"""The computations of a call: attributions with their spread, then support and channels if requested."""

from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.calls.given_table import Given
from gplens.calls.live_model import LiveModel
from gplens.calls.posed import Posed
from gplens.display.progress import showing
from gplens.explanation.channels import Channels
from gplens.explanation.channels_of_paths import channels_of_paths
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support
from gplens.explanation.support_of_paths import support_of_paths
from gplens.explanation.support_warning import warn_of_low_support
from gplens.paths.attribution import Attribution
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question, Rule
from gplens.uncertainty.across_rows import draw_across_rows
from gplens.uncertainty.portions import Portion, Work

Points = tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]


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
        with showing(len(given.X), progress) as advance:
            answer = work.run(*given.ends, advance)
        at, spread, trust, channels = given.first(answer.done), answer.spread, None, None
        try:
            if posed.joint is not None and spread is not None and answer.interrupt is None:
                spread = _joint_over_inputs(posed, work, spread, at, answer.attribution)
            if support:
                trust = _support(posed, work, at, answer.finished)
            elif support is None and live.reading.acquisition is None:
                known = live.compared_at if posed.question.process is live.reading.process else None
                warn_of_low_support(posed.question.process, *_with_own_categories(posed.question, at), known)
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
