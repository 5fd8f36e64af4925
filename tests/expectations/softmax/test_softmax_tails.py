"""Classes of small probability: their attributions are within the stated error, which is an absolute one."""

import pytest
import torch

import gplens
from gplens import Posterior, Stack, kernels, links
from gplens.means import ConstantMean
from seeds import fresh_seed


def check(seed: int) -> None:
    """Two classes, of which the second has a latent value that is certain: the first is the sigmoid of its own."""
    g = torch.Generator().manual_seed(seed)
    depth = float(30 * torch.rand((), generator=g))
    X, y = torch.randn(6, 2, generator=g).double(), torch.randn(6, generator=g).double()
    x, x0 = torch.randn(2, 3, 2, generator=g).double().unbind()
    rare = Posterior.exact(kernels.RBF(torch.ones(2).double()), X, y - depth, noise=0.3, mean=ConstantMean(-depth))
    nothing = kernels.Scale(kernels.RBF(torch.ones(2).double()), torch.tensor(1e-30).double())
    certain = Posterior.exact(nothing, X, 0 * y, noise=1.0)
    pairs = gplens.baselines.Rows(x0)
    classes = gplens.explain(Stack((rare, certain)), x, baseline=pairs, likelihood=links.Softmax(), outputs=[0])
    exact = gplens.explain(rare, x, baseline=pairs, likelihood=links.Sigmoid(), tolerance=1e-9)
    assert classes.converged is not None
    assert classes.error is not None
    off = (classes.values[:, 0] - exact.values).abs()
    assert (off <= classes.error[:, 0])[classes.converged].all(), f"{seed=}: off by {off.tolist()}"
    assert (classes.error >= 1e-9).all(), f"{seed=}"


@pytest.mark.parametrize("seed", range(8))
def test_small_probabilities_are_within_their_stated_error(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_many_small_probabilities_are_within_their_stated_error() -> None:
    first = fresh_seed()
    for seed in range(first, first + 200):
        check(seed)
