"""Candidates that were suggested together, each given the earlier ones."""

import torch
from botorch.acquisition.logei import qLogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.sampling import SobolQMCNormalSampler

import gplens


def test_each_candidate_is_explained_given_the_earlier_ones() -> None:
    """Attributions of the second add up to the change of the joint acquisition function of both."""
    g = torch.Generator().manual_seed(0)
    X = torch.rand(10, 2, generator=g, dtype=torch.float64)
    y = torch.sin(5 * X).sum(1, keepdim=True)
    model = SingleTaskGP(X, y).eval()
    sampler = SobolQMCNormalSampler(torch.Size([16]), seed=1)
    acquisition = qLogExpectedImprovement(model, best_f=0.0, sampler=sampler, tau_relu=0.1)
    candidates, start = torch.tensor([[0.3, 0.35], [0.6, 0.1]], dtype=torch.float64), X[0]
    first, second = gplens.explain_batch(acquisition, candidates, baseline=start, tolerance=1e-5)
    assert acquisition.X_pending is None
    with torch.no_grad():
        alone = acquisition(candidates[:1, None]) - acquisition(start[None, None])
        together = acquisition(candidates.flip(0)[None]) - acquisition(torch.stack([start, candidates[0]])[None])
    assert (first.values.sum() - alone).abs() <= 1e-4 * first.values.abs().max()
    assert (second.values.sum() - together).abs() <= 1e-4 * second.values.abs().max()
    assert "autograd" in repr(second)
    assert "autograd" not in repr(first)
