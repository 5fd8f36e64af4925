"""Paths that change categories and tasks: the oracle is the host's own prediction on all 2^c lines (MATH 10.1)."""

import warnings
from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import torch

import gplens
from category_models import X_MIXED, X_TASKS, by_definition, categorical, mean_of, mixed, scattered, tasks
from gplens.links import Identity
from messages import naming

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks


@pytest.mark.parametrize(
    ("make", "X", "x0", "categories"),
    [(mixed, X_MIXED, np.array([0.4, 0.5, 0.0, 0.0]), [2, 3]), (tasks, X_TASKS, np.array([0.4, 0.5, 0.0]), [2])],
)
def test_the_definition_term_by_term(
    make: Callable[[], Any], X: np.ndarray, x0: np.ndarray, categories: list[int]
) -> None:
    """And the sums equal the differences of the host's posterior mean to 1e-8."""
    model = make()
    explanation, T = gplens.explain(model, X, baseline=x0, support=False), mean_of(model)
    truth = np.stack([by_definition(T, x0, x, categories) for x in X])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=2e-7)
    np.testing.assert_allclose(explanation.values.sum(1).numpy(), T(X) - T(x0[None]), atol=1e-8)
    assert bool(explanation.converged.all())


CATEGORIES = np.array([[1.0, 2.0, 1.0, 2.0], [2.0, 0.0, 1.0, 1.0], [0.0, 3.0, 0.0, 1.0]])


def test_a_purely_categorical_model_has_the_shapley_value() -> None:
    """The average over all orders in which the categories are switched."""
    values = gplens.explain(categorical(), CATEGORIES, baseline=np.zeros(4), support=False).values.numpy()
    T, orders = mean_of(categorical()), list(permutations(range(4)))
    for x, found in zip(CATEGORIES, values, strict=True):
        expected = np.zeros(4)
        for order in orders:
            steps = np.zeros((5, 4))
            for i, j in enumerate(order):
                steps[i + 1 :, j] = x[j]
            expected[list(order)] += np.diff(T(steps)) / len(orders)
        np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.slow
def test_a_purely_categorical_model_equals_the_exact_explainer_of_shap() -> None:
    with warnings.catch_warnings(action="ignore"):  # those of shap's own imports
        import shap
    exact = shap.ExactExplainer(mean_of(categorical()), shap.maskers.Independent(np.zeros((1, 4))))(CATEGORIES)
    explanation = gplens.explain(categorical(), CATEGORIES, baseline=np.zeros(4), support=False)
    np.testing.assert_allclose(explanation.values.numpy(), exact.values, atol=1e-8)


def test_rows_that_change_no_category_are_as_they_were() -> None:
    """Bit for bit if no row of the call does; to rounding beside rows that do."""
    x0, X = torch.tensor([0.4, 0.5, 1.0, 2.0]), torch.as_tensor(X_MIXED[:1])
    alone = gplens.explain(mixed(), X, baseline=x0)
    with_others = gplens.explain(mixed(), torch.cat([X, torch.as_tensor(X_MIXED[1:])]), baseline=x0, support=False)
    plain = gplens.explain(mixed(), X, baseline=x0[None].double().expand(1, -1), support=False)
    assert torch.equal(alone.values, plain.values)
    torch.testing.assert_close(with_others.values[:1], alone.values, atol=1e-12, rtol=0)


def test_a_target_that_is_not_linear_in_the_latent_function() -> None:
    """The variance of the mixture of lines is not the mixture of variances that (10.1) explains."""
    x0, model = np.array([0.4, 0.5, 0.0, 0.0]), mixed()

    def variance(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model.posterior(torch.as_tensor(x)).variance[..., 0].numpy()

    explanation = gplens.explain(model, X_MIXED, baseline=x0, target=gplens.targets.EpistemicVariance(), support=False)
    truth = np.stack([by_definition(variance, x0, x, [2, 3]) for x in X_MIXED])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=5e-7)


def test_more_categories_than_lines_can_be_evaluated() -> None:
    X = scattered(0, [2] * 13, 20, 3)
    model = gplens.Functions(lambda x: x.prod(1), features=13)
    names = [f"c{j}" for j in range(13)]
    with pytest.raises(ValueError, match=naming("12", "13", "baseline")):
        gplens.explain(model, X[:1] * 0 + 1, baseline=0.0, likelihood=Identity(), categories=names, feature_names=names)
