"""The one verb: read the model, integrate along the paths, return an Explanation."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from gplens.baselines.given import check_keyword
from gplens.calls.assembly import assembled
from gplens.calls.given_table import Given
from gplens.calls.live_model import LiveModel
from gplens.calls.outcome import Outcome
from gplens.calls.posed import Posed
from gplens.display.progress import check_progress
from gplens.explanation.declared_categories import Categories
from gplens.explanation.interrupted import Interrupted
from gplens.explanation.result import Explanation
from gplens.explanation.selection import Outputs
from gplens.paths.adaptive import Adaptive
from gplens.paths.hard_rows import warn_of_hard_rows
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

    IG_k = d_k int_0^1 d_k T(x0 + t d) dt,  d = x - x0  (4.1). At t every category is switched with probability t
    (10.1): where only categories change, that is the Shapley value.

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
            attribution: 1e-6 if None, or 1e-4 if only Monte Carlo is possible (correlated classes) or an acquisition
            function is known by its values alone. Rows whose values miss it are False in `converged`.
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
        categories: columns without values in between, which paths switch at once (MATH 10): names of columns; names for
            their codes, {"colour": {0: "red", 1: "blue"}}; or blocks of columns, {"colour": ["colour_red",
            "colour_blue"]}. Categories and tasks that the kernel of a model tells apart are found without it.
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
    check_progress(progress)
    with torch.inference_mode(False), torch.no_grad():
        given = Given.read(model, X, baseline, feature_names, groups, categories)
        live = LiveModel.compared(model, likelihood, given)
        posed = Posed.of(live, given, target, outputs, tolerance, uncertainty, channels)
        outcome = Outcome.of(posed, live, given, rule, support, progress)
    explanation = assembled(outcome, posed, live, given, target, rule)
    integral, at = outcome.answer.finished.integral, given.first(outcome.answer.done)
    converged = None if explanation.spread is None else explanation.spread.converged
    warn_of_hard_rows(posed.question, rule, integral, converged, *at, given.inputs)
    if outcome.interrupt is not None:
        raise Interrupted(explanation, len(given.X)) from outcome.interrupt
    return explanation


def _instance(value: T, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"expected {name} to be an object such as {EXAMPLES[name]}, got {value!r}.")
    return value
