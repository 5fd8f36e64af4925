"""From the results of a call to an Explanation in the columns of the user's table."""

from dataclasses import replace

from torch import Tensor

from gplens.adapters.labels import Labels
from gplens.calls.given_table import Given
from gplens.calls.live_model import LiveModel
from gplens.calls.outcome import Outcome
from gplens.calls.posed import Posed
from gplens.explanation.declared_categories import category_texts
from gplens.explanation.original_columns import in_columns
from gplens.explanation.provenance import VERSION, Provenance
from gplens.explanation.result import Explanation
from gplens.likelihood import Likelihood
from gplens.paths.integrand import Rule
from gplens.targets import Response, Target


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
    explanation = _with_switched_columns(explanation, posed, given)
    explanation = explanation if given.groups is None else explanation.group(given.groups)
    if given.encoder is None:
        explanation = _with_names_of_categories(explanation, given)
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


def _with_switched_columns(explanation: Explanation, posed: Posed, given: Given) -> Explanation:
    """With a provenance that names the columns that paths switch at once."""
    if posed.question.switches is None:
        return explanation
    places = set(posed.question.switches.places)
    if given.encoder is None:
        switched = [name for place, name in enumerate(given.inputs) if place in places]
    else:
        blocks = zip(given.names, given.encoder.blocks, strict=True)
        switched = [name for name, block in blocks if places & set(block)]
    path = f"path that switches {', '.join(switched)} at once, each with probability t (MATH 10)"
    others = explanation.provenance.path
    path = path if others is None else f"{path}; other columns: {others}"
    return replace(explanation, provenance=replace(explanation.provenance, path=path))


def _with_names_of_categories(explanation: Explanation, given: Given) -> Explanation:
    """With the names that the user gave to codes and blocks."""
    inputs = category_texts(explanation.feature_names, given.names, given.categories, given.X)
    if inputs is None:
        return explanation
    starts = given.baselines[0] if explanation.background else given.baselines[:, 0].expand(given.X.shape)
    baseline = category_texts(explanation.feature_names, given.names, given.categories, starts)
    return replace(explanation, labels=replace(explanation.labels, inputs=inputs, baseline=baseline))


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
