"""The one verb: read the model, integrate along the paths, return an Explanation."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from gplens.baselines.given import check_keyword
from gplens.calls.given_table import Given
from gplens.calls.live_model import LiveModel
from gplens.calls.outcome import Outcome, assembled
from gplens.calls.posed import Posed
from gplens.display.progress import check_progress
from gplens.explanation.declared_categories import Categories
from gplens.explanation.interrupted import Interrupted
from gplens.explanation.result import Explanation
from gplens.explanation.selection import Outputs
from gplens.paths import hard_rows
from gplens.paths.adaptive import Adaptive
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
        _instance(uncertainty, Uncertainty, "uncertainty")
    if progress is not None:
        check_progress(progress)
    with torch.inference_mode(False), torch.no_grad():
        given = Given.read(model, X, baseline, feature_names, groups, categories)
        live = LiveModel.compared(model, likelihood, given)
        posed = Posed.of(live, given, target, outputs, tolerance, uncertainty, channels)
        outcome = Outcome.of(posed, live, given, rule, support, progress)
    explanation = assembled(outcome, posed, live, given, target, rule)
    integral, at = outcome.answer.finished.integral, given.first(outcome.answer.done)
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
