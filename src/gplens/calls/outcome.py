"""The computations of a call, and the Explanation that their results become in the columns of the user's table."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.labels import Labels
from gplens.calls.given_table import Given
from gplens.calls.live_model import LiveModel
from gplens.calls.posed import Posed
from gplens.display.progress import showing
from gplens.explanation.channels import Channels
from gplens.explanation.channels_of_paths import channels_of_paths
from gplens.explanation.declared_categories import with_names_of_categories, with_switched_columns
from gplens.explanation.original_columns import in_columns
from gplens.explanation.provenance import VERSION, Provenance
from gplens.explanation.result import Explanation
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support
from gplens.explanation.support_of_paths import support_of_paths
from gplens.explanation.support_warning import LOW, warn_of_low_support
from gplens.likelihood import Likelihood
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution
from gplens.paths.integrand import Question, Rule
from gplens.processes.prior_variances import support_at_places
from gplens.targets import Response, Target
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


def assembled(outcome: Outcome, posed: Posed, live: LiveModel, given: Given, target: Target, rule: Rule) -> Explanation:
    """The Explanation of the finished inputs, in the columns of the table, summed over groups."""
    explanation = _of_inputs(outcome, posed, given, _provenance(posed, live, given, target, rule))
    spread, over_background = outcome.spread, outcome.answer.attribution.background_std
    if posed.output_names is None:
        spread = None if spread is None else spread.squeezed()
        over_background = None if over_background is None else over_background[:, 0]
    if posed.sets is None:
        explanation = replace(explanation, spread=spread)
    if given.encoder is not None and given.original is not None:
        every_baseline = given.baselines.flatten(0, 1)
        explanation = in_columns(explanation, given.encoder, given.names, given.original, every_baseline)
    if posed.question.switches is not None:
        explanation = with_switched_columns(explanation, given.columns_of(posed.question.switches.places))
    explanation = explanation if given.groups is None else explanation.group(given.groups)
    if given.encoder is None and given.categories is not None:
        rows = given.baselines[0] if explanation.background else given.baselines[:, 0].expand(given.X.shape)
        explanation = with_names_of_categories(explanation, given.names, given.categories, given.X, rows)
    explanation = replace(explanation, background_std=over_background)
    if posed.sets is not None:
        explanation = replace(explanation, spread=spread)
    done = outcome.answer.done
    return explanation if done == len(given.X) else explanation[:done]


def _of_inputs(outcome: Outcome, posed: Posed, given: Given, provenance: Provenance) -> Explanation:
    """The attributions of the inputs of the model, without an axis of outputs if there is only one."""
    attribution, trust, channels = outcome.answer.attribution, outcome.support, outcome.channels
    single = posed.output_names is None

    def shaped(tensor: Tensor) -> Tensor:
        return tensor[:, 0] if single else tensor

    integral, floor = attribution.integral, posed.question.expectation.floor  # the error of the target itself
    error = None if integral.error is None else shaped(integral.error)
    background = given.baseline.background
    return Explanation(
        values=shaped(integral.values),
        prediction=shaped(attribution.end),
        baseline_prediction=shaped(attribution.start),
        gap=shaped(attribution.gap),
        error=None if error is None else error + floor if floor else error,
        nodes=integral.nodes,
        converged=integral.converged,
        inputs=given.X,
        baseline=given.baselines[0] if background else given.baselines[:, 0].expand(given.X.shape),
        feature_names=given.inputs,
        output_names=posed.output_names,
        provenance=provenance,
        background=background,
        baseline_weights=given.baseline.weights,
        standard_error=None if attribution.standard_error is None else shaped(attribution.standard_error),
        frame_backend=given.table.backend,
        labels=Labels(given.table.row_names),
        support=trust.squeezed() if single and trust is not None else trust,
        channels=channels.squeezed() if single and channels is not None else channels,
    )


def _provenance(posed: Posed, live: LiveModel, given: Given, target: Target, rule: Rule) -> Provenance:
    reading, likelihood = live.reading, live.likelihood
    return Provenance(
        model=reading.model,
        likelihood=None if likelihood is None else likelihood.name,
        target=reading.acquisition or repr(target),
        baseline=repr(given.baseline),
        rule=repr(rule),
        tolerance=posed.question.tolerance,
        gradients="autograd" if reading.process.autograd else "closed form",
        notes=reading.notes,
        version=VERSION,
        output=_single_output(likelihood, target),
        remark=reading.remark,
        acquisition=reading.acquisition is not None,
    )


def _single_output(likelihood: Likelihood | None, target: Target) -> str | None:
    """The name that the likelihood gives to a single output; None if it gives none."""
    outputs = None if likelihood is None or not isinstance(target, Response) else likelihood.outputs
    return outputs[0] if outputs is not None and len(outputs) == 1 else None
