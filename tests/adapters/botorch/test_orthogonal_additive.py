"""BoTorch's OrthogonalAdditiveGP as an outside oracle: components of a first-order model, and their covariances."""

import pytest
import torch

import gplens

additive_gp = pytest.importorskip("botorch.models.additive_gp", reason="BoTorch before 0.18 lacks it")


def test_attributions_of_a_first_order_model_are_changes_of_its_components() -> None:
    """IG_k = f_k(x_k) - f_k(x0_k), whose mean and deviation `infer_all_components=True` gives directly."""
    g = torch.Generator().manual_seed(0)
    X = torch.rand(14, 3, generator=g, dtype=torch.float64)
    y = torch.sin(4 * X[:, :1]) + X[:, 1:2] ** 2 - 0.3 * X[:, 2:]
    model = additive_gp.OrthogonalAdditiveGP(X, (y - y.mean()) / y.std(), outcome_transform=None).eval()
    model.likelihood.noise = 1e-2
    ends = torch.tensor([[0.2, 0.7, 0.9], [0.8, 0.1, 0.4]], dtype=torch.float64)
    e = gplens.explain(
        model, ends[1:], baseline=ends[0], uncertainty=gplens.Diagonal(tolerance=1e-6), tolerance=1e-9, support=False
    )
    with torch.no_grad():
        components = model.posterior(ends, infer_all_components=True)
        mean, covariance = components.mean[1:, :, 0], components.distribution.covariance_matrix[1:]
    change = mean[:, 1] - mean[:, 0]
    deviation = (covariance[:, 0, 0] + covariance[:, 1, 1] - 2 * covariance[:, 0, 1]).sqrt()
    assert e.std is not None
    assert (e.values[0] - change).abs().max() <= 1e-7 * change.abs().max()
    assert (e.std[0] - deviation).abs().max() <= 1e-5 * deviation.max()
