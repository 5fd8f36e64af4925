"""Every acquisition function of BoTorch that is listed, against its own values and Captum on its own forward()."""

import warnings
from functools import cache
from typing import Any

import pytest
import torch
from acquisition_zoo import CANDIDATES, EVERY_ACQUISITION, UNSEEN, AcquisitionCase, inputs, one, sampler
from botorch.acquisition import qExpectedImprovement, qKnowledgeGradient
from captum.attr import IntegratedGradients
from torch import Tensor

import gplens
from messages import naming

STEPS = 512
NEAR = 10.0 ** -torch.arange(1, 9).double()
"""Distances from a kink, in parts of the path, at which the oracle's path is divided if the kink is soft."""


def parametrised(case: AcquisitionCase) -> Any:
    """Samples with kinks take seconds, of the path and of the oracle; one of them is always run."""
    marks = () if case.kinks is None or case.name == "qEI" else (pytest.mark.slow,)
    return pytest.param(case, id=repr(case), marks=marks)


EVERY_CASE = [parametrised(case) for case in EVERY_ACQUISITION]


@cache
def built(case: AcquisitionCase) -> Any:
    with warnings.catch_warnings(action="ignore"):  # of classes whose logarithms are recommended
        return case.build()


@cache
def explained(case: AcquisitionCase) -> gplens.Explanation:
    X, x0 = case.ends
    return gplens.explain(built(case), X, baseline=x0, tolerance=case.tolerance)


def values(acquisition: Any, X: Tensor) -> Tensor:
    with torch.no_grad():
        return acquisition(X[:, None])


def objectives(acquisition: Any, X: Tensor) -> Tensor:
    """What decides by its sign whether a sample is an improvement, by the host: (points, samples)."""
    with torch.no_grad():
        if hasattr(acquisition, "cell_lower_bounds"):
            return beyond_cells(acquisition, X)
        y = acquisition._get_samples_and_objectives(X[:, None])[1]
        noisy = hasattr(acquisition, "compute_best_f")
        y = y - (acquisition.compute_best_f(y)[..., None] if noisy else acquisition.best_f)
    return y.movedim(0, -1).reshape(len(X), -1)


def beyond_cells(acquisition: Any, X: Tensor) -> Tensor:
    """Each objective of each sample less each bound of the cells above the Pareto front of that sample."""
    if hasattr(acquisition, "_compute_posterior_samples_and_concat_pending"):
        samples = acquisition._compute_posterior_samples_and_concat_pending(X[:, None])[0]
    else:
        samples = acquisition.get_posterior_samples(acquisition.model.posterior(X[:, None]))
    y = acquisition.objective(samples)[:, :, 0]
    bounds = torch.cat([acquisition.cell_lower_bounds, acquisition.cell_upper_bounds], dim=-2)
    each = y[:, :, None] - bounds.expand(len(y), -1, -1)[:, None]
    return each.clamp(-1e9, 1e9).movedim(1, 0).reshape(len(X), -1)


def places(case: AcquisitionCase, x: Tensor) -> list[float]:
    """Where the path of the oracle is divided: at kinks, found by bisection of the host's own samples."""
    if case.kinks is None:
        return [0.0, 1.0]
    t, x0 = torch.linspace(0, 1, 401).double(), case.ends[1]
    above = objectives(built(case), x0 + t[:, None] * (x - x0)) > 0
    piece, sample = (above[1:] != above[:-1]).nonzero(as_tuple=True)
    if not len(piece):
        return [0.0, 1.0]
    low, high, rising = t[piece], t[piece + 1], above[piece + 1, sample]
    for _ in range(45):
        middle = (low + high) / 2
        y = objectives(built(case), x0 + middle[:, None] * (x - x0))
        right = (y[torch.arange(len(sample)), sample] > 0) == rising
        low, high = torch.where(right, low, middle), torch.where(right, middle, high)
    near = torch.cat([-NEAR, torch.zeros(1), NEAR]) if case.kinks else torch.zeros(1)
    inside = (high[:, None] + near).flatten()
    return [0.0, *inside[(inside > 0) & (inside < 1)].sort().values.tolist(), 1.0]


def captum(case: AcquisitionCase, x: Tensor) -> Tensor:
    """Integrated Gradients by Captum, 512 Gauss-Legendre steps on every part of the path."""
    attribution, parts = IntegratedGradients(lambda X: built(case)(X[:, None])), places(case, x)
    t = torch.tensor(parts).double()
    points = case.ends[1] + t[:, None] * (x - case.ends[1])
    total = torch.zeros_like(x)
    for begin, end in zip(points[:-1].split(8), points[1:].split(8), strict=True):
        total += attribution.attribute(end, begin, n_steps=STEPS, method="gausslegendre").sum(0)
    return total


@pytest.mark.parametrize("case", EVERY_CASE)
def test_attributions_add_up_to_the_change_of_the_acquisition_function(case: AcquisitionCase) -> None:
    e, (X, x0) = explained(case), case.ends
    end, start = values(built(case), X), values(built(case), x0[None])
    size = (end - start).abs().max() + end.abs().max()
    assert bool(e.converged.all())
    assert (e.prediction - end).abs().max() <= 1e-8 * size
    assert (e.values.sum(1) - (end - start)).abs().max() <= case.sums * size


@pytest.mark.parametrize("case", EVERY_CASE)
def test_attributions_are_those_of_captum(case: AcquisitionCase) -> None:
    e = explained(case)
    oracle = torch.stack([captum(case, x) for x in case.ends[0]])
    assert (e.values - oracle).abs().max() <= case.captum * oracle.abs().max()


def test_hypervolumes_of_samples_add_up_by_default() -> None:
    """At the default tolerance of 1e-4: paths are cut around every bend of width tau, not at its middle alone."""
    case = next(case for case in EVERY_ACQUISITION if case.name == "q log NEHVI of a small tau")
    X, x0 = case.ends[0][:1], 0.9 * case.ends[0][0] + 0.05
    e = gplens.explain(built(case), X, baseline=x0)
    change = values(built(case), X) - values(built(case), x0[None])
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * e.values.abs().max()


def test_an_improvement_beside_pending_points_adds_up_by_default() -> None:
    """Paths are cut where the candidate's sample passes those of the pending points, which all move with it."""
    best = one().train_targets.median()
    with warnings.catch_warnings(action="ignore"):  # the logarithm is recommended
        acquisition = qExpectedImprovement(one(), best, sampler(8), X_pending=inputs(2, 3))
    X, x0 = inputs(2, 5), inputs(1, 6)[0]
    e = gplens.explain(acquisition, X, baseline=x0)
    change = values(acquisition, X) - values(acquisition, x0[None])
    assert bool(e.converged.all())
    assert (e.values.sum(1) - change).abs().max() <= 1e-10 * e.values.abs().max()


@pytest.mark.slow
def test_steps_on_the_whole_path_miss_the_kinks() -> None:
    """Why Captum's path is divided: 512 steps from end to end are off by far more than what is compared."""
    case = next(case for case in EVERY_ACQUISITION if case.name == "q log NEHVI of a small tau")
    X, x0 = case.ends
    whole = IntegratedGradients(lambda X: built(case)(X[:, None]))
    undivided = whole.attribute(X, x0.expand_as(X).contiguous(), n_steps=STEPS, method="gausslegendre")
    change = values(built(case), X) - values(built(case), x0[None])
    assert (undivided.sum(1) - change).abs().max() > 0.1 * change.abs().max()


@pytest.mark.parametrize("case", EVERY_CASE)
def test_channels_add_up_and_autograd_is_said(case: AcquisitionCase) -> None:
    e = explained(case)
    assert type(built(case)).__name__ in repr(e)
    if not case.closed:
        assert e.channels is None
        assert e.provenance.gradients == "autograd"
        assert "autograd" in repr(e)
        return
    assert e.channels is not None
    total = sum(e.channels.values())
    assert (total - e.values).abs().max() <= 1e-14 * max(part.abs().max() for part in e.channels.values())
    assert "autograd" not in repr(e)


def test_knowledge_gradient_with_its_fantasies_frozen() -> None:
    """A one-shot function is refused with what to write instead, which is the sum and the oracle to many digits."""
    gradient, fantasies = qKnowledgeGradient(one(), num_fantasies=4, sampler=sampler(4)), inputs(4, 9)

    def frozen(x: Tensor) -> Tensor:
        return gradient(torch.cat([x[:, None], fantasies.expand(len(x), -1, -1)], 1))

    with pytest.raises(
        ValueError, match=naming("qKnowledgeGradient", "gplens.Functions", "fantasies.expand", "Latent")
    ):
        gplens.explain(gradient, CANDIDATES, baseline=UNSEEN)
    functions, target = gplens.Functions(frozen, features=3), gplens.targets.Latent()
    e = gplens.explain(functions, CANDIDATES, baseline=UNSEEN, target=target, tolerance=1e-9)
    with torch.no_grad():
        change = frozen(CANDIDATES) - frozen(UNSEEN[None])
    assert (e.values.sum(1) - change).abs().max() <= 1e-8 * change.abs().max()
    start = UNSEEN.expand_as(CANDIDATES).contiguous()
    oracle = IntegratedGradients(frozen).attribute(CANDIDATES, start, n_steps=STEPS, method="gausslegendre")
    assert (e.values - oracle).abs().max() <= 1e-6 * oracle.abs().max()
