"""A model is read once, and again as soon as anything about it has changed."""

import gc
import weakref
from collections.abc import Callable

import gpytorch
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.means import ConstantMean
from gpytorch_models import Sparse
from torch import Tensor

import gplens
from gplens.adapters import gpytorch as host
from gplens.links import Identity


def model() -> torch.nn.Module:
    torch.manual_seed(3)
    own = Sparse(torch.randn(6, 3), ScaleKernel(RBFKernel(ard_num_dims=3)), ConstantMean()).double()
    own.variational_strategy._variational_distribution.variational_mean.data.normal_()
    own.variational_strategy.variational_params_initialized.fill_(1)
    return own.eval()


def explained(own: torch.nn.Module) -> Tensor:
    return gplens.explain(own, torch.ones(1, 3).double(), baseline=0.0, likelihood=Identity()).values


def reads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is read from now on."""
    seen: list[object] = []
    read = host.read_variational

    def counting(*args: object) -> object:
        seen.append(args)
        return read(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(host, "read_variational", counting)
    return seen


def test_an_unchanged_model_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, own = reads(monkeypatch), model()
    first = explained(own)
    own.train()  # a mode that gplens does not look at
    assert torch.equal(explained(own), first)
    assert len(seen) == 1


def lengthscale(own: torch.nn.Module) -> None:
    own.covar_module.base_kernel.raw_lengthscale.data.add_(1.0)  # which no version counter notices


def variational_mean(own: torch.nn.Module) -> None:
    with torch.no_grad():
        own.variational_strategy._variational_distribution.variational_mean[0] += 1.0


def kernel(own: torch.nn.Module) -> None:
    own.covar_module = gpytorch.kernels.MaternKernel(2.5).double()


def smoothness(own: torch.nn.Module) -> None:
    own.covar_module.nu = 1.5


CHANGES = {"a parameter, behind autograd": lengthscale, "q(u), in place": variational_mean, "another kernel": kernel}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_model_is_read_again(change: Callable[[torch.nn.Module], None]) -> None:
    own = model()
    before = explained(own)
    change(own)
    after = explained(own)
    assert not torch.allclose(after, before, rtol=1e-6)
    with torch.no_grad():
        ends = own(torch.stack([torch.ones(3), torch.zeros(3)]).double()).mean
    torch.testing.assert_close(after.sum(), ends[0] - ends[1], rtol=1e-8, atol=1e-10)


def test_a_plain_attribute_counts_too() -> None:
    own = model()
    kernel(own)
    before = explained(own)
    smoothness(own)
    assert not torch.allclose(explained(own), before, rtol=1e-6)


def test_the_host_s_jitter_counts_too(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, own = reads(monkeypatch), model()
    explained(own)
    with gpytorch.settings.variational_cholesky_jitter(double_value=1e-3):
        explained(own)
    assert len(seen) == 2


def test_inputs_outside_of_the_region_that_was_checked_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    own, checks = model(), []
    check = host.check
    monkeypatch.setattr(host, "check", lambda *args: checks.append(args) or check(*args))
    for size in (1.0, 0.5, 2.0):
        gplens.explain(own, torch.full((1, 3), size).double(), baseline=0.0, likelihood=Identity())
    assert len(checks) == 2


def test_a_model_that_nobody_needs_is_let_go() -> None:
    own = model()
    explained(own)
    alive = weakref.ref(own)
    del own
    gc.collect()
    assert alive() is None
