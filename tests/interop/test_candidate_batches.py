"""Candidates that were suggested together, each given the earlier ones; the acquisition function stays as it is."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from botorch.acquisition import FixedFeatureAcquisitionFunction, ProximalAcquisitionFunction
from botorch.acquisition.logei import qLogExpectedImprovement, qLogNoisyExpectedImprovement
from botorch.acquisition.monte_carlo import qExpectedImprovement, qSimpleRegret, qUpperConfidenceBound
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.acquisition.penalized import PenalizedAcquisitionFunction
from botorch.models import ModelListGP, SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler
from torch import Tensor

import gplens
from messages import naming

Make = Callable[[Tensor | None], Any]

X = torch.rand(10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.stack([torch.sin(5 * X).sum(1), torch.cos(4 * X[:, 0]) + X[:, 1]], 1)
CANDIDATES = torch.tensor([[0.3, 0.35], [0.6, 0.1]], dtype=torch.float64)
START = torch.tensor([0.45, 0.5], dtype=torch.float64)
PENDING = torch.tensor([[0.1, 0.9], [0.7, 0.5]], dtype=torch.float64)
ONE = SingleTaskGP(X, Y[:, :1]).eval()
TWO = ModelListGP(ONE, SingleTaskGP(X, Y[:, 1:]).eval())


def sampler(count: int = 4) -> SobolQMCNormalSampler:
    return SobolQMCNormalSampler(torch.Size([count]), seed=1)


def noisy_hypervolume(pending: Tensor | None) -> Any:
    reference = Y.amin(0) - 0.1
    return qLogNoisyExpectedHypervolumeImprovement(
        TWO, reference, X, sampler(2), tau_relu=0.1, X_pending=pending, prune_baseline=False
    )


MAKERS: dict[str, Make] = {
    "q log EI": lambda p: qLogExpectedImprovement(ONE, 0.5, sampler(), tau_relu=0.1, X_pending=p),
    "q log NEI": lambda p: qLogNoisyExpectedImprovement(
        ONE, X, sampler(), tau_relu=0.1, X_pending=p, prune_baseline=False
    ),
    "q log NEHVI": noisy_hypervolume,
    "penalised": lambda p: PenalizedAcquisitionFunction(
        qUpperConfidenceBound(ONE, 0.5, sampler(), X_pending=p), lambda x: x.square().sum((-1, -2)), 0.1
    ),
}
FAST = ("q log NEI",)
PARTS = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in MAKERS]


def value(acquisition: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        return acquisition(x.reshape(-1, 1, x.shape[-1]))


def test_each_candidate_is_explained_given_the_earlier_ones() -> None:
    """Attributions of the second add up to the change of the joint acquisition function of both."""
    acquisition = qLogExpectedImprovement(ONE, best_f=0.0, sampler=sampler(16), tau_relu=0.1)
    first, second = gplens.explain_batch(acquisition, CANDIDATES, baseline=X[0], tolerance=1e-5)
    assert acquisition.X_pending is None
    with torch.no_grad():
        alone = acquisition(CANDIDATES[:1, None]) - acquisition(X[:1, None])
        together = acquisition(CANDIDATES.flip(0)[None]) - acquisition(torch.stack([X[0], CANDIDATES[0]])[None])
    assert (first.values.sum() - alone).abs() <= 1e-4 * first.values.abs().max()
    assert (second.values.sum() - together).abs() <= 1e-4 * second.values.abs().max()
    assert "autograd" in repr(second)
    assert "autograd" not in repr(first)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("own", [None, PENDING], ids=["", "with pending points"])
def test_candidates_join_the_pending_points_and_leave_the_function_as_it_is(name: str, own: Tensor | None) -> None:
    """Against a function that was made with all of these points."""
    acquisition = MAKERS[name](own)
    before = value(acquisition, CANDIDATES)
    explanations = gplens.explain_batch(acquisition, CANDIDATES, baseline=START, tolerance=1e-4)
    assert torch.equal(value(acquisition, CANDIDATES), before)
    given = [own, CANDIDATES[:1] if own is None else torch.cat([own, CANDIDATES[:1]])]
    for x, points, e in zip(CANDIDATES, given, explanations, strict=True):
        made = MAKERS[name](points)
        change = value(made, x) - value(made, START)
        assert bool(e.converged.all())
        assert (e.values.sum() - change).abs() <= 3e-4 * e.values.abs().max()


def test_cells_of_earlier_candidates_are_forgotten() -> None:
    """`optimize_acqf(..., sequential=True)` leaves all candidates but the last one in the cells of a hypervolume."""
    acquisition = noisy_hypervolume(None)
    acquisition.set_X_pending(CANDIDATES)
    acquisition.set_X_pending(None)
    elsewhere = CANDIDATES + 0.05  # at a point of the baseline its samples have no variance
    left, fresh = value(acquisition, elsewhere), noisy_hypervolume(None)
    assert not torch.allclose(left, value(fresh, elsewhere))
    (e,) = gplens.explain_batch(acquisition, CANDIDATES[:1], baseline=START, tolerance=1e-3)
    change = value(fresh, CANDIDATES[0]) - value(fresh, START)
    assert (e.values.sum() - change).abs() <= 3e-3 * e.values.abs().max()
    assert torch.equal(value(acquisition, elsewhere), left)


def test_candidates_of_fixed_features_may_have_all_columns_or_the_free_ones() -> None:
    """The points that were pending before may have other values there."""
    inner = qUpperConfidenceBound(ONE, 0.5, sampler(), X_pending=PENDING)
    fixed = FixedFeatureAcquisitionFunction(inner, d=2, columns=[1], values=[0.4])
    full = CANDIDATES.clone()
    full[:, 1], start = 0.4, torch.tensor([0.45, 0.4], dtype=torch.float64)
    e = gplens.explain_batch(fixed, full, baseline=start, tolerance=1e-4)[1]
    free = gplens.explain_batch(fixed, CANDIDATES[:, :1], baseline=START[:1], tolerance=1e-4)[1]
    made = qUpperConfidenceBound(ONE, 0.5, sampler(), X_pending=torch.cat([PENDING, full[:1]]))
    change = value(made, full[1]) - value(made, start)
    assert torch.equal(inner.X_pending, PENDING)
    assert (e.values.sum() - change).abs() <= 3e-4 * change.abs()
    assert (free.values.sum() - change).abs() <= 3e-4 * change.abs()


def test_a_best_value_with_a_graph_is_copied() -> None:
    with warnings.catch_warnings(action="ignore"):  # the logarithm is recommended
        acquisition = qExpectedImprovement(ONE, ONE.posterior(X).mean.max(), sampler())
    assert acquisition.best_f.requires_grad
    second = gplens.explain_batch(acquisition, CANDIDATES, baseline=START, tolerance=1e-3)[1]
    assert bool(second.values.isfinite().all())


def test_what_has_no_pending_points_is_refused() -> None:
    proximal = ProximalAcquisitionFunction(qSimpleRegret(ONE, sampler()), torch.ones(2).double(), beta=1.0)
    with pytest.raises(ValueError, match=naming("ProximalAcquisitionFunction", "gplens.explain")):
        gplens.explain_batch(proximal, CANDIDATES, baseline=START)
    with pytest.raises(TypeError, match=naming("SingleTaskGP", "gplens.explain")):
        gplens.explain_batch(ONE, CANDIDATES, baseline=START)
