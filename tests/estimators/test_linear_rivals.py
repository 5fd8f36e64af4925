"""Budgets, and the comparison with a linear model."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

from gplens.estimators import GPClassifier, GPRegressor, Training
from gplens.estimators.fitting import Problem, gaussian_noise
from gplens.estimators.linear_rivals import _parts, compare_exact, compare_sparse
from gplens.estimators.training.collapsed import CollapsedBound
from gplens.estimators.training.evidence import log_evidence
from gplens.estimators.training.fit_sizes import FitPlan, most_exact_rows
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch
from gplens.estimators.training.q_of_u import Sites
from messages import naming

R = np.random.default_rng(0)
X = R.normal(size=(120, 2))
Y = np.sin(2 * X[:, 0]) + 0.1 * R.normal(size=120)


def _problem() -> tuple[Problem, torch.Tensor, Hyperparameters, Structure]:
    number = torch.zeros((), dtype=torch.float64)
    at = Hyperparameters(number.expand(1, 2), number[None], None, number + 0.1, number - 2)
    y = torch.from_numpy(Y)
    problem = Problem(y, gaussian_noise(), lambda y: Sites(y[None], torch.ones_like(y)))
    return problem, torch.from_numpy(X), at, Structure.of("rbf", 2, True, (), 1e-8, 1.0)


def test_held_out_densities_are_those_of_a_model_without_these_rows() -> None:
    """Joint densities of all rows and of the others; a sparse model with all rows as inducing points has the same."""
    problem, rows, at, structure = _problem()
    parts = _parts(problem, 120, 3)
    assert parts is not None
    held, others = parts[0], torch.tensor(sorted(set(range(120)) - set(parts[0].tolist())))
    each = [float(log_evidence(at, structure, rows[[*others, i]], problem.y[[*others, i]])) for i in held.tolist()]
    rest = float(log_evidence(at, structure, rows[others], problem.y[others]))
    expected = np.mean(each) - rest
    assert compare_exact(problem, rows, at, structure, 3)["held_out_log_density"] == pytest.approx(expected, abs=1e-6)
    at = replace(at, Z=rows[None])
    with Watch(None, 0.0, False) as watch:
        q = CollapsedBound(structure, rows, problem.y).solve(at, watch)
    ours = compare_sparse(problem, rows, at, structure, q, 3)["held_out_log_density"]
    assert ours == pytest.approx(expected, abs=1e-3)


def test_a_linear_model_that_is_better_is_named() -> None:
    """A kernel that may not learn its lengthscales from three inducing points, for a straight line in five columns."""
    r = np.random.default_rng(1)
    A = r.normal(size=(400, 5))
    y = A.sum(1) + 0.05 * r.normal(size=400)
    with pytest.warns(UserWarning, match=naming("ridge regression", "held-out")):
        GPRegressor(exact_rows=0, inducing_points=3, random_state=0).fit(A, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = GPRegressor(random_state=0).fit(X, Y)
    assert model.training_summary_["linear_log_density"] < model.training_summary_["held_out_log_density"]


def test_a_budget_ends_a_fit_with_the_best_model_so_far() -> None:
    y = np.where(Y > 0, "a", "b")
    model = GPClassifier(random_state=0).fit(X, y, budget=1e-3)
    assert model.training_summary_["stopped"] == "the budget was spent"
    assert model.training_summary_["held_back"] == "the budget was spent"
    assert model.score(X, y) > 0.8
    trained = GPClassifier(training=Training(steps=1000), random_state=0).fit(X, y, budget=1e-3)
    assert trained.training_summary_["steps"] == 1
    assert GPRegressor().fit(X, Y, budget=100).training_summary_["held_back"] is None


@pytest.mark.parametrize("budget", [0, -1, "60", float("inf"), True])
def test_a_budget_that_makes_no_sense_is_named(budget: object) -> None:
    with pytest.raises(ValueError, match=naming("budget")):
        GPRegressor().fit(X, Y, budget=budget)


def test_sizes_follow_the_budget() -> None:
    assert most_exact_rows(None) == most_exact_rows(60.0) == 2987
    assert most_exact_rows(6.0) < 2000 < most_exact_rows(600.0)
    small, large = (FitPlan.of(10**6, None, None, budget) for budget in (6.0, 600.0))
    assert small.rungs[-1] < large.rungs[-1]
    assert FitPlan.of(10**6, None, 50, None).rungs == (50,)
    assert FitPlan.of(300, 1, None, None).rows == 300
