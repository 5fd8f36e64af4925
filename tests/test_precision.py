"""dtype=torch.float32: a few digits fewer, and the error that says so."""

import pytest
import torch

from conformance.zoo import EVERY_POSTERIOR, KernelCase, fitted, rows
from gplens import Diagonal, Mix, Samples, Stack, explain
from gplens.likelihood import Likelihood
from gplens.links import Exp, Softmax
from gplens.means import LinearMean
from gplens.processes.posterior import Posterior
from gplens.targets import Latent

FORMULAS = [case for case in EVERY_POSTERIOR if not fitted(case, 0)[0].autograd]


@pytest.mark.parametrize("case", FORMULAS, ids=repr)
def test_single_precision_has_four_digits(case: KernelCase) -> None:
    posterior, _ = fitted(case, 61)
    X, X0 = rows(61, 4)
    exact = explain(posterior, X, baseline=X0, likelihood=Exp(), tolerance=1e-10)
    single = explain(posterior, X, baseline=X0, likelihood=Exp(), dtype=torch.float32)
    assert single.values.dtype == torch.float64
    assert single.provenance.tolerance == 1e-4
    scale = exact.values.abs().amax(1, keepdim=True) + exact.prediction.abs()[:, None]
    assert float(((single.values - exact.values).abs() / scale).max()) <= 1e-4


def test_several_latent_functions_and_error_bars() -> None:
    """Classes, a mix, a linear mean; deviations are computed in float64, at nodes that suffice for the tolerance."""
    parts = [fitted(EVERY_POSTERIOR[0], seed)[0] for seed in (62, 63, 64)]
    first = Posterior(parts[0].kernel, parts[0].Z, parts[0].beta, parts[0].A, LinearMean(torch.ones(4).double()))
    stack, (X, X0) = Stack((first, *parts[1:])), rows(62, 3)
    options = {"baseline": X0, "likelihood": Likelihood("softmax", Softmax())}
    exact, single = explain(stack, X, **options), explain(stack, X, dtype=torch.float32, **options)
    torch.testing.assert_close(single.values, exact.values, rtol=0, atol=1e-5)
    mix = Mix(stack, torch.tensor([[1.0, -0.5, 0.2], [0.3, 2.0, 0.0]]).double())
    options = {"baseline": X0, "likelihood": Exp(), "uncertainty": Diagonal()}
    exact, single = explain(mix, X, tolerance=1e-4, **options), explain(mix, X, dtype=torch.float32, **options)
    assert exact.std is not None
    assert single.std is not None
    torch.testing.assert_close(single.std, exact.std, rtol=1e-6, atol=1e-12)
    torch.testing.assert_close(single.values, exact.values, rtol=0, atol=1e-4 * float(exact.values.abs().max()))


def test_draws_of_outputs_that_share_latent_functions_are_joint() -> None:
    """f and -2 f: every draw of the second attribution is -2 times that of the first."""
    posterior, (X, X0) = fitted(EVERY_POSTERIOR[0], 67)[0], rows(67, 2)
    mix = Mix(posterior, torch.tensor([[1.0], [-2.0]]).double())
    options = {"baseline": X0, "target": Latent(), "uncertainty": Samples(50, seed=1)}
    draws = explain(mix, X, dtype=torch.float32, **options).draws
    assert draws is not None
    torch.testing.assert_close(draws[:, :, 1], -2 * draws[:, :, 0], rtol=0, atol=1e-6)


def test_kernels_of_the_host_are_refused() -> None:
    case = next(case for case in EVERY_POSTERIOR if fitted(case, 0)[0].autograd)
    X, X0 = rows(65, 1)
    with pytest.raises(ValueError, match="Leave dtype= out"):
        explain(fitted(case, 65)[0], X, baseline=X0, likelihood=Exp(), dtype=torch.float32)


@pytest.mark.parametrize(("options", "words"), [({"tolerance": 1e-6}, "from 0.0001 to 1"), ({}, "torch.float16")])
def test_what_single_precision_cannot_do_is_refused(options: dict[str, float], words: str) -> None:
    posterior, (X, X0) = fitted(EVERY_POSTERIOR[0], 66)[0], rows(66, 1)
    dtype = torch.float32 if options else torch.float16
    with pytest.raises(ValueError, match=words):
        explain(posterior, X, baseline=X0, likelihood=Exp(), dtype=dtype, **options)
