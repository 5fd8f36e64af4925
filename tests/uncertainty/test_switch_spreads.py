"""Error bars on paths that change categories, against joint draws of the host's posterior on all lines (MATH 10.4)."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import gplens
from category_models import X_MIXED, X_TASKS, mixed, tasks
from gplens import links
from messages import naming

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks
STEP = 1e-3
NODES = 12


def linear_map(x0: np.ndarray, x: np.ndarray, categories: list[int]) -> tuple[np.ndarray, list[tuple[int, np.ndarray]]]:
    """Points, and for each feature the weights of f in its attribution: central differences, 12 Gauss nodes."""
    changed = [j for j in categories if x0[j] != x[j]]
    moved = [k for k in range(len(x)) if k not in categories and x0[k] != x[k]]
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    points, rows = [], {k: [] for k in (*moved, *changed)}

    def add(point: np.ndarray, of: dict[int, float]) -> None:
        points.append(point)
        for k, row in rows.items():
            row.append(of.get(k, 0.0))

    for S in product([False, True], repeat=len(changed)):
        begin, end = x0.copy(), x.copy()
        for j, inside in zip(changed, S, strict=True):
            begin[j] = end[j] = x[j] if inside else x0[j]
        s, c = sum(S), len(S)
        for t, w in zip((nodes + 1) / 2, weights / 2, strict=True):
            at, weight = begin + t * (end - begin), w * t**s * (1 - t) ** (c - s)
            signed = {}
            for j, inside in zip(changed, S, strict=True):
                others = s - inside
                signed[j] = (1 if inside else -1) * w * t**others * (1 - t) ** (c - 1 - others)
            add(at, signed)
            for k in moved:
                step = np.eye(len(x))[k] * STEP
                add(at + step, {k: weight * (x - x0)[k] / (2 * STEP)})
                add(at - step, {k: -weight * (x - x0)[k] / (2 * STEP)})
    return np.stack(points), [(k, np.array(row)) for k, row in rows.items()]


def joint(model: Any, points: np.ndarray) -> tuple[Tensor, Tensor]:
    """The host's own joint posterior of f, in its raw units."""
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        posterior = model.posterior(torch.as_tensor(points))
        return posterior.mean[:, 0], posterior.distribution.covariance_matrix


@pytest.mark.parametrize(
    ("make", "X", "x0", "categories"),
    [(mixed, X_MIXED, np.array([0.4, 0.5, 0.0, 0.0]), [2, 3]), (tasks, X_TASKS, np.array([0.4, 0.5, 0.0]), [2])],
)
def test_covariances_of_a_linear_target(make: Any, X: np.ndarray, x0: np.ndarray, categories: list[int]) -> None:
    model = make()
    explanation = gplens.explain(model, X, baseline=x0, uncertainty=gplens.Full(), support=False)
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    assert bool(explanation.spread.converged.all())
    for i, x in enumerate(X):
        points, rows = linear_map(x0, x, categories)
        B = torch.zeros(len(x), len(points), dtype=torch.float64)
        for k, row in rows:
            B[k] = torch.as_tensor(row)
        expected = B @ joint(model, points)[1] @ B.T
        largest = expected.diagonal().max()
        torch.testing.assert_close(explanation.spread.covariance[i], expected, atol=2e-3 * float(largest), rtol=0)


@pytest.mark.slow
def test_draws_of_a_target_through_a_link_against_joint_draws_of_the_host() -> None:
    """E exp(f): 40,000 joint draws of f at all points of the definition."""
    model, x0, process = mixed(), np.array([0.4, 0.5, 0.0, 0.0]), gplens.read(mixed()).process
    request = gplens.Samples(8000, seed=0)
    explanation = gplens.explain(
        process, X_MIXED, baseline=x0, likelihood=links.Exp(), uncertainty=request, support=False
    )
    assert explanation.spread is not None
    assert explanation.spread.draws is not None
    for i, x in enumerate(X_MIXED):
        points, rows = linear_map(x0, x, [2, 3])
        m, C = joint(model, points)
        size, vectors = torch.linalg.eigh(C)
        root = vectors * size.clamp(min=0).sqrt()
        normals = torch.randn(40_000, len(m), generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        T = torch.exp(m + normals @ root.T)
        for k, row in rows:
            draws = T @ torch.as_tensor(row)
            assert float(explanation.std[i, k]) == pytest.approx(float(draws.std()), rel=0.1)
            assert float(explanation.values[i, k]) == pytest.approx(float(draws.mean()), abs=0.03 * float(draws.std()))


@pytest.mark.slow
def test_both_ways_to_the_covariance_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """In shares of categories, and as sums over all lines; over a background, with groups and draws too."""
    X, x0 = torch.as_tensor(X_MIXED[:1]), gplens.baselines.Sample(mixed().train_inputs[0][:2])
    asked = {"baseline": x0, "support": False, "groups": {"both": ["x0", "x2"]}}
    in_shares = gplens.explain(mixed(), X, uncertainty=gplens.Full(), **asked)
    drawn = gplens.explain(mixed(), X, uncertainty=gplens.Samples(4000, seed=0), **asked)
    monkeypatch.setattr("gplens.paths.category_paths._shares", lambda *arguments: None)
    on_lines = gplens.explain(mixed(), X, uncertainty=gplens.Full(), **asked)
    also_drawn = gplens.explain(mixed(), X, uncertainty=gplens.Samples(4000, seed=0), **asked)
    torch.testing.assert_close(in_shares.values, on_lines.values, atol=1e-9, rtol=0)
    torch.testing.assert_close(in_shares.background_std, on_lines.background_std, atol=1e-9, rtol=0)
    torch.testing.assert_close(in_shares.spread.covariance, on_lines.spread.covariance, atol=2e-4, rtol=0)
    for explanation in (drawn, also_drawn):
        torch.testing.assert_close(explanation.spread.draws.std(1), in_shares.std, rtol=0.06, atol=1e-3)


def test_deviations_without_draws_and_what_is_refused() -> None:
    process, x0 = gplens.read(mixed()).process, torch.tensor([0.4, 0.5, 0.0, 0.0])
    asked = {"baseline": x0, "likelihood": links.Exp(), "support": False}
    explanation = gplens.explain(process, X_MIXED, uncertainty=gplens.Diagonal(), **asked)
    assert explanation.spread is not None
    assert explanation.spread.std_error is not None
    assert bool((explanation.spread.std_error <= 0.1 * explanation.std).all())
    with pytest.raises(ValueError, match=naming("Full", "Samples", "Diagonal")):
        gplens.explain(process, X_MIXED, uncertainty=gplens.Full(), **asked)
    with pytest.raises(ValueError, match=naming("support", "baseline")):
        gplens.explain(process, X_MIXED, **(asked | {"support": True}))
