"""The live model is asked for its prediction whatever its points, parameters and settings are, and left as it was."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gpytorch
import pytest
import torch
from gpytorch import settings
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.means import ConstantMean
from gpytorch.variational import UnwhitenedVariationalStrategy, VariationalStrategy
from gpytorch_models import Exact, Sparse

import gplens
from gplens.estimators.own_likelihoods import LogPoisson


def sparse(strategy: Any = VariationalStrategy, inducing: int = 12, dtype: torch.dtype = torch.float64) -> Sparse:
    draw = torch.Generator().manual_seed(0)
    Z = torch.randn(inducing, 3, generator=draw).to(dtype)
    model = Sparse(Z, ScaleKernel(MaternKernel(2.5)), ConstantMean(), strategy=strategy).to(dtype).eval()
    q = model.variational_strategy._variational_distribution
    q.variational_mean.data = torch.randn(inducing, generator=draw).to(dtype)
    q.chol_variational_covar.data.mul_(0.01)
    model.variational_strategy.variational_params_initialized.fill_(1)
    return model


@pytest.mark.parametrize(
    ("strategy", "dtype"),
    [
        (VariationalStrategy, torch.float32),
        (VariationalStrategy, torch.float64),
        (UnwhitenedVariationalStrategy, torch.float64),
    ],
)
def test_points_that_coincide(strategy: Any, dtype: torch.dtype) -> None:
    """The covariance of the prediction at x, x0 = x and half-way between them has no Cholesky factor of its own."""
    model = sparse(strategy, dtype=dtype)
    x = model.variational_strategy.inducing_points[:1].detach()
    prepared = gplens.read(model, LogPoisson())
    e = gplens.explain(prepared, x, baseline=x)
    assert float(e.values.abs().max()) == 0.0


@pytest.mark.parametrize("inducing", [12, 300])
def test_settings_are_as_they_were(inducing: int) -> None:
    """Small matrices are evaluated at once, large ones lazily; the user's own settings come back."""
    prepared = gplens.read(sparse(inducing=inducing), LogPoisson())
    with settings.trace_mode(False), settings.lazily_evaluate_kernels(False):
        gplens.explain(prepared, torch.ones(1, 3), baseline=0.0)
        assert settings.lazily_evaluate_kernels.off()
        assert settings.trace_mode.off()
    assert settings.lazily_evaluate_kernels.on()


@pytest.mark.parametrize("make", [sparse, lambda: sparse(UnwhitenedVariationalStrategy)], ids=["whitened", "not"])
def test_predictions_are_compared_once_and_then_the_prior(
    make: Callable[[], Sparse], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that the host computes differently from one call to the next is noticed with both comparisons."""
    model = make()
    prepared, x = gplens.read(model, LogPoisson()), torch.ones(1, 3, dtype=torch.float64)
    notes = [gplens.explain(prepared, factor * x, baseline=0.0).provenance.notes[-1] for factor in (1.0, 0.5, 2.0)]
    assert ["m and v equal" in note for note in notes] == [True, False, False]
    assert ["prior" in note for note in notes] == [False, True, True]
    forward = MaternKernel.forward
    monkeypatch.setattr(MaternKernel, "forward", lambda self, a, b, **kw: forward(self, 2 * a, 2 * b, **kw))
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(prepared, x, baseline=0.0)


class Shifted(Sparse):
    """A model that changes its prediction after the fact, by an attribute of an attribute."""

    cfg = SimpleNamespace(shift=0.0, factor=1.0)

    def __call__(self, inputs: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        f = super().__call__(inputs, *args, **kwargs)
        return MultivariateNormal(f.mean + self.cfg.shift, f.lazy_covariance_matrix * self.cfg.factor)


def other_jitter(model: Any) -> None:
    model.variational_strategy._jitter_val = 0.3


def other_shift(model: Any) -> None:
    model.cfg = SimpleNamespace(shift=0.1, factor=1.0)


def other_variance(model: Any) -> None:
    model.cfg = SimpleNamespace(shift=0.0, factor=1.1)


def other_mean(model: Any) -> None:
    model.mean_module.forward = lambda x: 0.1 * torch.ones_like(x[..., 0])


@pytest.mark.parametrize("change", [other_jitter, other_shift, other_variance, other_mean])
def test_a_prediction_that_changes_beside_tensors_and_kernel_is_compared_in_every_call(
    change: Callable[[Any], None],
) -> None:
    """Tensors and prior covariance are those of an earlier comparison, and yet the prediction is another one."""
    model = sparse()
    model.__class__ = Shifted if change in (other_shift, other_variance) else Sparse
    prepared, x = gplens.read(model, LogPoisson()), torch.ones(1, 3, dtype=torch.float64)
    for _ in range(2):
        gplens.explain(prepared, x, baseline=0.0)
    change(model)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(prepared, x, baseline=0.0)


def counted_exact() -> Exact:
    x = torch.linspace(-1, 1, 8).double()[:, None].expand(-1, 3)
    return Exact(x, x[:, 0].sin(), GaussianLikelihood().double(), ScaleKernel(RBFKernel()), ConstantMean())


@pytest.mark.parametrize("make", [sparse, counted_exact])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_parameter_that_is_an_integer(make: Callable[[], gpytorch.models.GP], dtype: torch.dtype) -> None:
    """It is the first one, and says nothing of the precision of the model."""
    model = make().to(dtype).eval()
    steps = torch.nn.Parameter(torch.tensor([7]), requires_grad=False)
    model._parameters = {"steps": steps, **model._parameters}
    assert next(model.parameters()).dtype == torch.int64
    e = gplens.explain(model, 0.3 * torch.ones(1, 3), baseline=0.0, target=gplens.targets.Latent())
    assert float(e.gap.abs().max()) < 1e-6
    assert str(dtype) in " ".join(e.provenance.notes)


@pytest.mark.filterwarnings("ignore::gplens.SupportWarning")
@pytest.mark.parametrize("exact", [True, False], ids=["exact", "sparse"])
def test_a_kernel_that_changes_between_points_that_are_far_from_each_other(exact: bool) -> None:
    """k is zero between all points of the call, before and after the change: it shows beside support points."""
    Z, y = (
        torch.tensor([[0.3], [0.9], [19.5], [20.4], [10.2]]).double(),
        torch.tensor([1.0, 0.5, -1.0, -0.3, 0.2]).double(),
    )
    kernel = ScaleKernel(RBFKernel())
    model: Any = (
        Exact(Z, y, GaussianLikelihood(), kernel, ConstantMean()) if exact else Sparse(Z, kernel, ConstantMean())
    )
    model = model.double().eval()
    if not exact:
        model.variational_strategy._variational_distribution.variational_mean.data.copy_(y)
        model.variational_strategy.variational_params_initialized.fill_(1)
    prepared = gplens.read(model)
    call: dict[str, Any] = {"X": torch.tensor([[20.0]]), "baseline": 0.0, "target": gplens.targets.Latent()}
    for _ in range(2):
        e = gplens.explain(prepared, **call)
    assert "earlier comparison" in e.provenance.notes[-1]
    model.forward = lambda x: MultivariateNormal(model.mean_module(x), model.covar_module(2 * x))
    with pytest.raises(ValueError, match="read"):
        gplens.explain(prepared, **call)
