"""Intervals of contrasts and of mean sizes in the report, against quantiles of the draws themselves."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from live_models import L, posterior

import gplens
from gplens import kernels, links
from gplens.page.joint_marks import contrasts, mean_sizes
from gplens.processes.stack import Stack


def explained(request: Any) -> Any:
    model = Stack(tuple(posterior(kernels.RBF(L), seed=i) for i in range(3)))
    X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return gplens.explain(model, X, baseline=0.0, likelihood=links.Softmax(), tolerance=1e-4, uncertainty=request)


def test_contrasts_are_quantiles_of_differences_of_draws() -> None:
    e = explained(gplens.Samples(60, seed=0))
    found = contrasts(e, 0.9)["contrasts"]
    draws = e.spread.draws
    pairs = [(0, 1), (0, 2), (1, 2)]
    low = np.stack([np.quantile(draws[:, :, i] - draws[:, :, j], 0.05, axis=1) for i, j in pairs])
    np.testing.assert_allclose(decoded(found["low"]), low.ravel(), atol=1e-12)


def test_without_joint_draws_the_reason_is_told() -> None:
    spread = SimpleNamespace(std=torch.ones(1, 2, 3), draws=None, joint_draws=True)
    part = SimpleNamespace(output_names=("a", "b"), spread=spread)
    assert "Samples" in contrasts(part, 0.9)["no_contrasts"]


def test_mean_sizes_are_bounded_by_the_mean_deviation() -> None:
    """The bound of each output, then that of the likeliest one of each row."""
    g = torch.Generator().manual_seed(0)
    values, std = (torch.randn(5, 2, 3, generator=g, dtype=torch.float64) for _ in range(2))
    std, prediction = std.abs(), torch.tensor([[0.9, 0.1]] * 4 + [[0.2, 0.8]], dtype=torch.float64)
    draws = torch.zeros(5, 9, 2, 3, dtype=torch.float64)  # of every row alone: they do not say how rows move together
    spread = SimpleNamespace(std=std, draws=draws, across_rows=False)
    part = SimpleNamespace(spread=spread, values=values, output_names=("a", "b"), prediction=prediction)
    found = mean_sizes(part, 0.9)
    assert found is not None
    likeliest = torch.cat([values[:4, 0], values[4:, 1]]).abs().mean(0) + torch.cat([std[:4, 0], std[4:, 1]]).mean(0)
    expected = torch.cat([(values.abs() + std).mean(0), likeliest[None]])
    np.testing.assert_allclose(decoded(found["high"]), expected.numpy().ravel(), rtol=1e-12)


def decoded(text: str) -> Any:
    from base64 import b64decode

    return np.frombuffer(b64decode(text), dtype="<f8")
