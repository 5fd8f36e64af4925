"""Models whose outputs have different links: exact ones beside a named approximation, one output at a time or all."""

import pytest
import torch

import gplens
from gplens import links
from gplens.expectations.expectation import ExpectedLink

X = torch.randn(12, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
BETA = torch.randn(3, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
GP = gplens.Posterior(gplens.kernels.RBF(torch.full((3,), 1.5).double()), X[:8], BETA, 0.1 * torch.eye(8).double())
LINKS = (links.Sigmoid(), links.SigmoidTaylor(), links.Exp())


@pytest.fixture(scope="module")
def mixed() -> gplens.Explanation:
    return gplens.explain(GP, X[8:], baseline=0.0, likelihood=ExpectedLink(LINKS))


@pytest.mark.parametrize("output", [0, 1, 2])
def test_each_output_is_what_it_is_alone(mixed: gplens.Explanation, output: int) -> None:
    """Explained with one link for all outputs, and with an Expectation of several of which one is asked for."""
    alone = gplens.explain(GP, X[8:], baseline=0.0, likelihood=LINKS[output])
    chosen = gplens.explain(GP, X[8:], baseline=0.0, likelihood=ExpectedLink(LINKS), outputs=[output])
    size = float(mixed.values[:, output].abs().max())
    for other in (alone.values[:, output], chosen.values[:, 0]):
        assert float((mixed.values[:, output] - other).abs().max()) <= 1e-6 * size
    assert torch.allclose(mixed.prediction[:, output], alone.prediction[:, output], rtol=1e-11)


def test_the_exact_outputs_are_complete_and_the_approximation_says_what_it_lacks(mixed: gplens.Explanation) -> None:
    """The gap is T(x) - T(x0) less the sum of the attributions; the values T are exact for all three."""
    gap, change = mixed.gap.abs(), (mixed.prediction - mixed.baseline_prediction).abs()
    assert bool((gap[:, [0, 2]] <= 1e-6 * change[:, [0, 2]].amax()).all())
    assert float(gap[:, 1].max()) > 1e-3 * float(change[:, 1].max())
    left_out = mixed.prediction - mixed.baseline_prediction - mixed.values.sum(2)
    assert torch.allclose(left_out.abs(), gap, atol=1e-12)
