"""A model that changes between two calls is explained as it is now, and a Reading from before the change is refused."""

import gc
from collections.abc import Callable
from types import MethodType, SimpleNamespace
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch_models import Sparse
from torch import Tensor
from torch.distributions import Poisson

import gplens

SETTINGS = {"scale": 1.0}
X = torch.tensor([[1.3, 2.1], [3.0, 0.2]], dtype=torch.float64)
ZERO = torch.zeros(1, 2, dtype=torch.float64)


class Warp:
    def __init__(self, k: float) -> None:
        self.k = k

    def __call__(self, z: Tensor) -> Tensor:
        return self.k * z


class Open:
    """A forward that depends on all kinds of attributes that torch does not register."""

    gain = 1.0

    def prepare(self) -> None:
        self.warp, self.cfg, self.weights = Warp(1.0), SimpleNamespace(scale=1.0), np.ones(2)
        self.nets, self.table = [torch.nn.Linear(2, 2).double()], {"factor": torch.ones(2, dtype=torch.float64)}

    def stretch(self, x: Tensor) -> Tensor:
        return x

    def inner(self, x: Tensor) -> Tensor:
        z = self.stretch(x) * torch.as_tensor(self.weights) * self.cfg.scale * self.gain * SETTINGS["scale"]
        return self.warp(self.nets[0](z.to(torch.float64)) * self.table["factor"]).to(x.dtype)

    def forward(self, x: Tensor) -> MultivariateNormal:
        z = self.inner(x)
        return MultivariateNormal(self.mean_module(z), self.covar_module(z))  # type: ignore[attr-defined]


class OpenExact(Open, gpytorch.models.ExactGP):
    def __init__(self, X: Tensor, y: Tensor) -> None:
        super().__init__(X, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), ScaleKernel(RBFKernel(ard_num_dims=2))
        self.prepare()


class OpenSparse(Open, Sparse):
    def __init__(self, Z: Tensor) -> None:
        super().__init__(Z, ScaleKernel(RBFKernel(ard_num_dims=2)), gpytorch.means.ConstantMean())
        self.prepare()


def exact(dtype: torch.dtype = torch.float64) -> Any:
    torch.manual_seed(0)
    inputs = torch.rand(15, 2, dtype=torch.float64) * 4
    return OpenExact(inputs.to(dtype), (torch.sin(inputs[:, 0]) + inputs[:, 1]).to(dtype)).to(dtype).eval()


def sparse(dtype: torch.dtype = torch.float64) -> Any:
    torch.manual_seed(1)
    model = OpenSparse(4 * torch.rand(6, 2, dtype=torch.float64)).double()
    model.variational_strategy._variational_distribution.variational_mean.data.normal_()
    model.variational_strategy.variational_params_initialized.fill_(1)
    return model.to(dtype).eval()


def warp(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.warp.k = 3.0


def net_in_a_list(model: Any, patch: pytest.MonkeyPatch) -> None:
    with torch.no_grad():
        model.nets[0].weight.mul_(0.3)


def numpy_in_place(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.weights *= 0.5


def namespace(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.cfg.scale = 2.0


def tensor_in_a_dictionary(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.table["factor"] *= 0.7


def replaced_object(model: Any, patch: pytest.MonkeyPatch) -> None:
    del model.warp
    gc.collect()
    model.warp = Warp(2.0)  # often at the address of the one before


def global_variable(model: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setitem(SETTINGS, "scale", 0.5)


def class_attribute(model: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Open, "gain", 2.0)


def patched_method(model: Any, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Open, "stretch", lambda self, x: 2 * x)


def patched_instance(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.stretch = lambda x: 2 * x


def patched_forward(model: Any, patch: pytest.MonkeyPatch) -> None:
    def forward(self: Any, x: Tensor) -> MultivariateNormal:
        return MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model.forward = MethodType(forward, model)


def parameter_in_place(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.covar_module.base_kernel.raw_lengthscale.data.add_(1.0)  # which no version counter notices


def slight_change(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.covar_module.base_kernel.raw_lengthscale.data.add_(1e-4)


def loaded_state(model: Any, patch: pytest.MonkeyPatch) -> None:
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    state["covar_module.raw_outputscale"] += 0.7
    model.load_state_dict(state)


def another_kernel(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.covar_module = gpytorch.kernels.MaternKernel(2.5).to(next(model.parameters()))


def mean_replaced(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.mean_module = gpytorch.means.LinearMean(2).to(next(model.parameters()))
    with torch.no_grad():
        model.mean_module.weights.fill_(0.5)
        model.mean_module.bias.fill_(0.1)


def smoothness(model: Any, patch: pytest.MonkeyPatch) -> None:
    model.covar_module.base_kernel.__class__ = Doubled


class Doubled(RBFKernel):
    def forward(self, *args: Any, **params: Any) -> Any:
        return super().forward(*args, **params) * 2


CHANGES = [
    warp,
    net_in_a_list,
    numpy_in_place,
    namespace,
    tensor_in_a_dictionary,
    replaced_object,
    global_variable,
    class_attribute,
    patched_method,
    patched_instance,
    patched_forward,
    parameter_in_place,
    slight_change,
    loaded_state,
    another_kernel,
    mean_replaced,
    smoothness,
]
each_change = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
each_model = pytest.mark.parametrize("make", [exact, sparse], ids=lambda make: make.__name__)
Change = Callable[[Any, pytest.MonkeyPatch], None]


def explain(model: Any, **options: Any) -> gplens.Explanation:
    return gplens.explain(model, X, baseline=ZERO[0], target=gplens.targets.Latent(), **options)


def host(model: Any) -> Tensor:
    """The model's own prediction, its caches dropped as a change of mode drops them."""
    model.train()
    model.eval()
    with torch.no_grad():
        return model(X.to(next(model.parameters()))).mean.double()


@each_change
@each_model
def test_a_changed_model_is_explained_as_it_is_now(
    make: Callable[[], Any], change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, fresh = make(), make()
    before = explain(model)
    torch.testing.assert_close(before.prediction, host(model), rtol=1e-8, atol=1e-8)
    change(model, monkeypatch)
    after = explain(model)
    if change not in (global_variable, class_attribute, patched_method):  # which fresh has undergone already
        change(fresh, monkeypatch)
    torch.testing.assert_close(after.prediction, host(model), rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(after.values, explain(fresh).values, rtol=1e-12, atol=1e-12)
    assert (after.values - before.values).abs().max() > 1e-7


@each_change
@each_model
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_a_reading_from_before_the_change_is_refused(
    make: Callable[[torch.dtype], Any], change: Change, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make(dtype)
    reading = gplens.read(model)
    torch.testing.assert_close(explain(reading).values, explain(model).values, rtol=1e-9, atol=1e-9)
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        explain(reading)
    explain(gplens.read(model))


@each_model
def test_modes_gradients_and_an_optimizer_that_does_nothing_change_nothing(make: Callable[[], Any]) -> None:
    model = make()
    reading, before = gplens.read(model), explain(model)
    model.train()
    model.losses = []
    model.losses.append(torch.ones(1, requires_grad=True) * 2)
    model.covar_module(X).to_dense().sum().backward()
    for after in (explain(model), explain(reading)):
        torch.testing.assert_close(after.values, before.values, rtol=1e-12, atol=1e-12)
    assert model.training


def test_other_training_data() -> None:
    model = exact()
    reading = gplens.read(model)
    model.set_train_data(model.train_inputs[0] + 0.1, model.train_targets * 2, strict=False)
    torch.testing.assert_close(explain(model).prediction, host(model), rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match=r"train_inputs.*gplens\.read\(model\)"):
        explain(reading)


def test_the_noise_of_the_likelihood() -> None:
    model = exact()
    reading, target = gplens.read(model), gplens.targets.PredictiveVariance()
    model.likelihood.noise = 0.05
    after = gplens.explain(model, X, baseline=0.0, target=target)
    with torch.no_grad():
        model.train()
        model.eval()
        expected = model.likelihood(model(X)).variance
    torch.testing.assert_close(after.prediction, expected, rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match=r"noise.*gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=0.0, target=target)


class Rate(_OneDimensionalLikelihood):
    def __init__(self) -> None:
        super().__init__()
        self.cfg = SimpleNamespace(rate=1.0)

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Poisson:
        return Poisson(torch.exp(self.cfg.rate * function_samples))


def test_an_attribute_of_the_likelihood() -> None:
    model, likelihood = sparse(), Rate()
    reading = gplens.read(model, likelihood)
    before = gplens.explain(reading, X, baseline=0.0)
    torch.testing.assert_close(
        before.values, gplens.explain(model, X, baseline=0.0, likelihood=likelihood).values, rtol=1e-9, atol=1e-9
    )
    likelihood.cfg.rate = 0.5
    after = gplens.explain(model, X, baseline=0.0, likelihood=likelihood)
    with torch.no_grad():
        f = model(X)
    torch.testing.assert_close(after.prediction, torch.exp(f.mean / 2 + f.variance / 8), rtol=1e-8, atol=1e-8)
    with pytest.raises(ValueError, match=r"Rate.*Poisson.*gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=0.0)


def test_the_host_s_jitter_counts_too() -> None:
    model = sparse()
    before = explain(model)
    with gpytorch.settings.variational_cholesky_jitter(double_value=1e-2):
        after = explain(model)
        torch.testing.assert_close(after.prediction, host(model), rtol=1e-8, atol=1e-8)
    assert (after.values - before.values).abs().max() > 1e-5
