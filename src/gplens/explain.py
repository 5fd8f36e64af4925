"""The one verb: read the model, integrate along the paths, return an Explanation in the columns of the table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from gplens.adapters.labels import Labels
from gplens.baselines.given import check_keyword
from gplens.calls.given_table import Given
from gplens.calls.outcome import Results
from gplens.calls.posed import LiveModel, Posed
from gplens.display.progress import check_progress
from gplens.explanation.declared_categories import Categories, with_names_of_categories, with_switched_columns
from gplens.explanation.interrupted import Interrupted
from gplens.explanation.original_columns import in_columns
from gplens.explanation.provenance import VERSION, Provenance
from gplens.explanation.result import Explanation
from gplens.explanation.selection import Outputs
from gplens.likelihood import Likelihood
from gplens.paths import hard_rows
from gplens.paths.attribute import Adaptive
from gplens.paths.integrand import Rule
from gplens.targets import Response, Target
from gplens.uncertainty.requests import Uncertainty

__all__ = ["explain"]
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
    categories: Categories | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Explanation:
    """Integrated Gradients of a Gaussian process: which feature moved the prediction, and by how much.

    IG_k = d_k int_0^1 d_k T(x0 + t d) dt,  d = x - x0  (4.1). Categories have no values in between: at t, each has
    switched from the baseline to the input with probability t (10.1). Where only categories change, the attributions
    are Shapley values.

    Args:
        model: a fitted GPyTorch, BoTorch or scikit-learn Gaussian process, a gplens estimator, a gplens.Posterior, or
            gplens.Functions; a BoTorch acquisition function, with candidates as X; or the result of
            gplens.read(model). The model is not changed.
        X: the inputs to explain: an array, tensor or frame, (rows, features).
        positional: refused; everything after X has a name.
        baseline: what the attributions are relative to: a scalar, a vector, or an object of gplens.baselines. It may be
            left out only for gplens estimators, which keep a few representative training rows as their baseline.
        likelihood: the likelihood object of the host library, or a link. Not needed for an ExactGP, which has one.
        target: what is explained, an object of gplens.targets; the expected response if None.
        outputs: indices or names of the outputs to explain, for a model with several; all of them if None.
        rule: the quadrature rule, an object of gplens.rules; adaptive if None.
        tolerance: the error of every attribution relative to the larger of |T(x) - T(x0)| and the input's largest
            attribution: 1e-6 if None, or 1e-4 if only Monte Carlo is possible (correlated classes) or an acquisition
            function is known by its values alone. Rows whose values miss it are False in `converged`.
        uncertainty: the posterior uncertainty of the attributions. True computes standard deviations, intervals, and
            the joint distribution where it is cheap; gplens.Diagonal(), Full() and Samples(count, seed) select what is
            computed. Standard deviations have their own tolerance, 1e-3; rows that miss it are False in
            `spread.converged`. Nothing is computed if None or False.
        support: whether to compute `explanation.support`: how far the data, rather than the prior, determine the model
            along each path, and the part of each attribution that comes from where they do not. This evaluates the
            variance at 33 points of each path, and integrates the paths with low support once more. If None, only
            three points of a few paths are checked, with a gplens.SupportWarning if the model is mostly its prior
            there; False skips this check.
        channels: whether to compute `explanation.channels`: the parts of each attribution that come through the mean
            and through the variance of the latent functions (for an acquisition function, exploitation and
            exploration). This takes about as long as the attributions. If None, it is done for acquisition functions.
        categories: columns that have no values in between, so that paths switch them at once (MATH 10): names of
            columns; names for their codes, {"colour": {0: "red", 1: "blue"}}; or blocks of columns, {"colour":
            ["colour_red", "colour_blue"]}. Categories and tasks that have kernels of their own are found without it.
        groups: features whose attributions are added up: {"hour": ["hour_sin", "hour_cos"]}.
        feature_names: the names of the columns; taken from the frame if None.
        progress: whether to show a progress bar (tqdm). If None, it appears after two seconds, on a terminal or in a
            notebook.

    Returns:
        An Explanation, whose `values` are (rows, features), or (rows, outputs, features) for several outputs.

    Raises:
        ValueError, TypeError: the message says what was expected, what was got, and what to do.
        Interrupted: after Ctrl-C; its attribute `explanation` has the finished rows.

    Warns:
        ConvergenceWarning: rows missed their tolerance, or took very many nodes.

    Example:
        >>> X, y = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).double(), torch.arange(4.0).double()
        >>> gp = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2)), X, y, noise=0.01)
        >>> explanation = gplens.explain(gp, X[3:], baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=True)
        >>> print([f"{value:.2f} +- {std:.2f}" for value, std in zip(explanation.values[0], explanation.std[0])])
        ['0.92 +- 0.18', '2.04 +- 0.18']
    """
    check_keyword(positional)
    target = _instance(Response() if target is None else target, Target, "target")
    rule = _instance(Adaptive() if rule is None else rule, Rule, "rule")
    if uncertainty is not None and not isinstance(uncertainty, bool):
        uncertainty = _instance(uncertainty, Uncertainty, "uncertainty")
    if progress is not None:
        check_progress(progress)
    with torch.inference_mode(False), torch.no_grad():
        given = Given.read(model, X, baseline, feature_names, groups, categories)
        live = LiveModel.compared(model, likelihood, given)
        posed = Posed.of(live, given, target, outputs, tolerance, uncertainty, channels)
        outcome = Results.of(posed, live, given, rule, support, progress)
    explanation = assembled(outcome, posed, live, given, target, rule)
    integral, at = outcome.finished.integral, given.first(outcome.answer.done)
    of_spread = None if explanation.spread is None else explanation.spread.converged
    missed = any(converged is not None and not bool(converged.all()) for converged in (integral.converged, of_spread))
    if missed or int(integral.nodes.max()) > hard_rows.MANY * given.baselines.shape[1]:
        hard_rows.warn_of_hard_rows(posed.question, rule, integral, of_spread, *at, given.inputs)
    if outcome.interrupt is not None:
        raise Interrupted(explanation, len(given.X)) from outcome.interrupt
    return explanation


def _instance(value: T, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {name} to be an object such as {EXAMPLES[name]}, got {value!r}.")
    return value


def assembled(outcome: Results, posed: Posed, live: LiveModel, given: Given, target: Target, rule: Rule) -> Explanation:
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


def _of_inputs(outcome: Results, posed: Posed, given: Given, provenance: Provenance) -> Explanation:
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
        gap=shaped(integral.values.sum(2) - (attribution.end - attribution.start)),  # (4.4)
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
