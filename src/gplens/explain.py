"""The one verb: read the model, integrate along the paths, return an Explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.encoders import encoder_of
from gplens.adapters.labels import Labels
from gplens.adapters.numbers import as_float
from gplens.adapters.reading import Reading, check_columns, read, with_likelihood
from gplens.adapters.tables import Table, read_table
from gplens.baselines import Baseline, as_baseline
from gplens.baselines.given import check_keyword
from gplens.display.progress import check_progress, showing
from gplens.expectations.expectation import Expectation
from gplens.explanation.channels_of_paths import channels_of_paths, check_channels
from gplens.explanation.interrupted import Interrupted
from gplens.explanation.original_columns import in_columns, sets_of
from gplens.explanation.provenance import VERSION, Provenance
from gplens.explanation.result import Explanation
from gplens.explanation.selection import Outputs, group_columns, output_indices
from gplens.explanation.support_of_paths import support_of_paths
from gplens.explanation.support_warning import warn_of_low_support
from gplens.likelihood import Likelihood
from gplens.paths.adaptive import Adaptive
from gplens.paths.attribution import Attribution
from gplens.paths.averaging import Background
from gplens.paths.hard_rows import warn_of_hard_rows
from gplens.paths.integrand import Question, Rule
from gplens.processes.process import Process
from gplens.targets import Response, Target, bind_target
from gplens.uncertainty.across_rows import check_across_rows, draw_across_rows, each_row_alone
from gplens.uncertainty.answers import check_request
from gplens.uncertainty.backgrounds import check_background
from gplens.uncertainty.default_request import automatic_request
from gplens.uncertainty.portions import Work
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.sums import check_sums

__all__ = ["explain"]

CHECKED = 64
"""The most inputs, and as many baselines, at which a model that was just read is compared with the host."""
CHECKED_AGAIN = 8
"""The same for a Reading, which was compared when it was read."""
FINEST = 1e-13
"""Below this a tolerance asks for digits that float64 does not have."""
EXAMPLES = {
    "target": "gplens.targets.Latent()",
    "rule": "gplens.rules.GaussLegendre(16)",
    "uncertainty": "True or gplens.Diagonal()",
}
T = TypeVar("T")


def explain(
    model: Any,
    X: Any,
    *positional: Any,
    baseline: Any = None,
    likelihood: Any = None,
    target: Target | None = None,
    outputs: Outputs | None = None,
    rule: Rule | None = None,
    tolerance: float | None = None,
    uncertainty: Uncertainty | bool | None = None,
    support: bool | None = None,
    channels: bool | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Explanation:
    """Integrated Gradients of a Gaussian process: which feature moved the prediction, and by how much.

    IG_k = d_k int_0^1 d_k T(x0 + t d) dt,  d = x - x0  (4.1).

    Args:
        model: a fitted GPyTorch, BoTorch or scikit-learn Gaussian process, a gplens estimator, a gplens.Posterior, or
            gplens.Functions; an acquisition function of BoTorch, X being candidates; or what gplens.read(model)
            returned. It is left as it was.
        X: the inputs to explain: an array, tensor or frame, (rows, features).
        baseline: what the attributions are relative to: a scalar, a vector, or an object of gplens.baselines. An
            estimator of gplens has one of its own, a few training rows that stand for all; no other model has.
        likelihood: as the host library has it, or a link. An ExactGP carries its own.
        target: what is explained, an object of gplens.targets; the expected response if None.
        outputs: numbers or names of the outputs of a model that has several; all of them if None.
        rule: an object of gplens.rules; adaptive if None.
        tolerance: the error of every attribution relative to the larger of |T(x) - T(x0)| and the input's largest
            attribution: 1e-6 if None, or 1e-4 if only Monte Carlo is possible (correlated classes). Rows whose values
            miss it are False in `converged`.
        uncertainty: how sure the model is of each attribution. True computes standard deviations, intervals, and the
            joint distribution where it costs little; gplens.Diagonal(), Full() or Samples(count, seed) decide.
            Deviations have a tolerance of their own, 1e-3; rows that miss it are False in `spread.converged`.
            Nothing of it is computed if None or False.
        support: whether `explanation.support` is computed: how far the data determine the model along each path, and
            the part of each attribution from where they do not. It costs the variance at 33 points of each path, and
            as much as the attributions of the paths on which it is low. If None, three points of a few paths are
            looked at, with a gplens.SupportWarning if the model is mostly its prior there; False leaves that out.
        channels: whether `explanation.channels` is computed: what of each attribution comes through the mean and what
            through the variance of the latent functions, exploitation and exploration of an acquisition function. It
            costs as much again as the attributions. If None, it is computed for acquisition functions alone.
        groups: features to be added up: {"hour": ["hour_sin", "hour_cos"]}.
        feature_names: the names of the columns; those of the frame if None.
        progress: whether a bar shows the rows that are done, by tqdm. If None, it appears after two seconds, on a
            terminal or in a notebook.

    Returns:
        An Explanation, whose `values` are (rows, features), or (rows, outputs, features) for several outputs.

    Raises:
        ValueError, TypeError: with what was expected, what was got, and what to do.
        Interrupted: Ctrl-C; its `explanation` has the rows that were done.

    Warns:
        ConvergenceWarning: rows missed their tolerance, or took very many nodes.
    """
    check_keyword(positional)
    target = _instance(Response() if target is None else target, Target, "target")
    rule = _instance(Adaptive() if rule is None else rule, Rule, "rule")
    if uncertainty is not None and not isinstance(uncertainty, bool):
        _instance(uncertainty, Uncertainty, "uncertainty")
    check_progress(progress)
    encoder = encoder_of(model)
    baseline = as_baseline(_default_baseline(model) if baseline is None else baseline, encoder)
    table, original = (read_table(X, "X"), None) if encoder is None else encoder.read(X, "X")
    table.check_columns("the baseline", baseline.names)
    names = table.feature_names(feature_names, None if encoder is None else encoder.names)
    grouped = None if groups is None else group_columns(names, groups)  # a mistake is found before the work
    sets = None if encoder is None or not encoder.sums else sets_of(encoder.blocks, grouped)
    summed = list(grouped.values()) if sets is None and grouped is not None else sets
    with torch.inference_mode(False), torch.no_grad():
        baselines = baseline.rows(table.values)
        reading, likelihood = _read(model, likelihood, table.values, baselines)
        table.check_columns(f"the {reading.model}", reading.columns)
        _check_target(reading, target)
        process, expectation = bind_target(target, likelihood, reading.process, reading.draws, reading.model)
        names_of_outputs = _output_names(likelihood, expectation, process.latents)
        question, output_names = _question(process, expectation, names_of_outputs, outputs, tolerance)
        if channels is None:
            channels = reading.acquisition is not None and reading.remark is None
        if channels:
            check_channels(question)
        if uncertainty is True:
            uncertainty = automatic_request(question, len(names), baselines.shape[1])
        request = _request(uncertainty or None, grouped=bool(groups) and sets is None)
        together = request if isinstance(request, Samples) and request.across_rows else None
        if together is not None:
            check_across_rows(question)
            request = each_row_alone(question, together)
        if request is not None:
            check_request(question, request) if sets is None else check_sums(question, request, sets)
            check_background(question, request, baselines.shape[1])
        background = Background(baseline.weights, summed)
        work = Work(question, rule, request, sets, background)
        with showing(len(table.values), progress) as advance:
            answer = work.run(table.values, baselines, advance)
        attribution, spread, trust, stopped = answer.attribution, answer.spread, None, answer.interrupt
        split = None
        done = answer.done
        at = (table.values[:done], baselines if len(baselines) == 1 else baselines[:done])
        try:
            if together is not None and spread is not None and stopped is None:
                draws = draw_across_rows(question, together, *at, background.shares, attribution.integral.values, sets)
                spread = replace(spread, draws=draws, joint_draws=True, across_rows=True)
            if support:
                trust = support_of_paths(question, rule, work.integrate, *at, background, answer.finished)
            elif support is None and reading.acquisition is None:
                warn_of_low_support(question.process, *at)
            if channels and stopped is None:
                split = channels_of_paths(question, rule, *at, background, attribution.integral.values)
        except KeyboardInterrupt as interrupt:  # the attributions are there, these parts are not
            stopped = interrupt
    provenance = _provenance(reading, likelihood, target, baseline, rule, question.tolerance)
    floor = question.expectation.floor
    inputs = names if encoder is None else encoder.inputs
    explanation = _explanation(attribution, floor, table, baseline, baselines, inputs, output_names, provenance)
    if output_names is None:
        spread = None if spread is None else spread.squeezed()
        trust = None if trust is None else trust.squeezed()
        split = None if split is None else split.squeezed()
    explanation = replace(explanation, spread=spread if sets is None else None, support=trust, channels=split)
    if encoder is not None and original is not None:
        explanation = in_columns(explanation, encoder, names, original, baselines.flatten(0, 1))
    explanation = explanation if groups is None else explanation.group(groups)
    over_background = attribution.background_std
    if over_background is not None and output_names is None:
        over_background = over_background[:, 0]
    explanation = replace(explanation, background_std=over_background)
    explanation = explanation if sets is None else replace(explanation, spread=spread)
    explanation = explanation if done == len(table.values) else explanation[:done]
    converged = None if explanation.spread is None else explanation.spread.converged
    warn_of_hard_rows(question, rule, answer.finished.integral, converged, *at, inputs)
    if stopped is not None:
        raise Interrupted(explanation, len(table.values)) from stopped
    return explanation


def _default_baseline(model: Any) -> Baseline | None:
    """The background that an estimator of gplens keeps; None for any other model."""
    kept = getattr(model, "default_baseline", None)
    return kept if isinstance(kept, Baseline) else None


def _read(
    model: Any, likelihood: Any, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> tuple[Reading, Likelihood | None]:
    """The model as it was read, compared with the live one at inputs and baselines of this call; its likelihood."""
    most, every_baseline = CHECKED_AGAIN if isinstance(model, Reading) else CHECKED, baselines.flatten(0, 1)
    rows = _telling(X, most)
    half_way = (X[rows] + (baselines[:, 0] if len(baselines) == 1 else baselines[rows, 0])) / 2
    points = torch.cat([X[rows], every_baseline[_telling(every_baseline, most)], half_way])
    if isinstance(model, Reading):
        reading = model if likelihood is None else with_likelihood(model, likelihood)
    else:
        reading = read(model, likelihood, points=points)
    check_columns(reading.process.features, X)
    try:
        compared = reading.compared(points)
    except (ValueError, ArithmeticError) as cause:
        if not isinstance(model, Reading):
            raise
        raise ValueError(
            f"{cause} If the model has changed since it was read, call gplens.read(model) again."
        ) from cause
    return compared, compared.likelihood


def _check_target(reading: Reading, target: Target) -> None:
    if reading.acquisition is not None and not isinstance(target, Response):
        raise ValueError(
            f"expected no target= for {reading.acquisition}, got {target!r}: an acquisition function is what is "
            "explained. Explain its model with that target: gplens.explain(acquisition.model, ...)."
        )


def _telling(X: Float[Tensor, "b d"], most: int) -> Int[Tensor, " k"]:
    """Some rows, evenly spaced, and those with the smallest and the largest value of each feature."""
    if len(X) == 1:
        return torch.zeros(1, dtype=torch.long)
    spaced = torch.linspace(0, len(X) - 1, min(len(X), most // 4)).long()
    extreme = torch.stack([X.argmin(0), X.argmax(0)], dim=1).flatten()
    return torch.cat([spaced, extreme])[:most].unique()


def _output_names(likelihood: Likelihood | None, expectation: Expectation, latents: int) -> tuple[str, ...]:
    """The names that the likelihood has for several outputs; else those of the expectation."""
    names = expectation.names(latents)
    given = None if likelihood is None else likelihood.outputs
    return given if given is not None and len(given) == len(names) > 1 else names


def _question(
    process: Process, expectation: Expectation, names: tuple[str, ...], outputs: Any, tolerance: Any
) -> tuple[Question, tuple[str, ...] | None]:
    """What is explained, with as few latent functions as possible; and the names of the outputs of several."""
    finest = max(FINEST, expectation.default_tolerance) if tolerance is None else as_float(tolerance)
    if finest is None or not FINEST <= finest < 1:
        raise ValueError(f"expected a tolerance in [{FINEST:g}, 1), got {tolerance!r}; leave it out for 1e-6.")
    chosen = tuple(range(len(names))) if outputs is None else output_indices(names, outputs)
    output_names = tuple(names[i] for i in chosen) if len(names) > 1 else None
    process, expectation, chosen = expectation.narrowed(process, chosen)
    return Question(process, expectation.within(finest), chosen, finest), output_names


def _request(uncertainty: Uncertainty | None, *, grouped: bool) -> Uncertainty | None:
    if uncertainty is None:
        return None
    return uncertainty.for_groups() if grouped else uncertainty.plain()


def _explanation(
    attribution: Attribution,
    floor: float,
    table: Table,
    baseline: Baseline,
    baselines: Float[Tensor, "#b s d"],
    feature_names: tuple[str, ...],
    output_names: tuple[str, ...] | None,
    provenance: Provenance,
) -> Explanation:
    """The result, without an axis of outputs if there is only one; `floor` is the error of the target."""

    def shaped(tensor: Tensor) -> Tensor:
        return tensor[:, 0] if output_names is None else tensor

    integral = attribution.integral
    error = None if integral.error is None else shaped(integral.error)
    return Explanation(
        values=shaped(integral.values),
        prediction=shaped(attribution.end),
        baseline_prediction=shaped(attribution.start),
        gap=shaped(attribution.gap),
        error=None if error is None else error + floor if floor else error,
        nodes=integral.nodes,
        converged=integral.converged,
        inputs=table.values,
        baseline=baselines[0] if baseline.background else baselines[:, 0].expand(table.values.shape),
        feature_names=feature_names,
        output_names=output_names,
        provenance=provenance,
        background=baseline.background,
        baseline_weights=baseline.weights,
        standard_error=None if attribution.standard_error is None else shaped(attribution.standard_error),
        frame_backend=table.backend,
        labels=Labels(table.row_names),
    )


def _provenance(
    reading: Reading,
    likelihood: Likelihood | None,
    target: Target,
    baseline: Baseline,
    rule: Rule,
    tolerance: float,
) -> Provenance:
    return Provenance(
        model=reading.model,
        likelihood=None if likelihood is None else likelihood.name,
        target=reading.acquisition or repr(target),
        baseline=repr(baseline),
        rule=repr(rule),
        tolerance=tolerance,
        gradients="autograd" if reading.process.autograd else "closed form",
        notes=reading.notes,
        version=VERSION,
        output=_single_output(likelihood, target),
        remark=reading.remark,
        acquisition=reading.acquisition is not None,
    )


def _single_output(likelihood: Likelihood | None, target: Target) -> str | None:
    """What the response of a model with a single output is, if the likelihood names it."""
    outputs = None if likelihood is None or not isinstance(target, Response) else likelihood.outputs
    return outputs[0] if outputs is not None and len(outputs) == 1 else None


def _instance(value: T, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {name} to be an object such as {EXAMPLES[name]}, got {value!r}.")
    return value
