"""gplens.read: an explicit object in place of the model, for every kind of model, and for versions of hosts."""

import sys
import warnings
from types import ModuleType
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator
from torch import Tensor

import gplens
from gplens.adapters import hosts, reading
from gplens.adapters.estimators import FittedEstimator, class_names, output_names
from gplens.links import Exp, Identity
from gplens.processes.curved import Curved
from gplens.processes.smooth_map import SmoothMap

X = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(6, 2)
Y = X.sum(1).sin()


class Model(gpytorch.models.ExactGP):
    def __init__(self) -> None:
        super().__init__(X, Y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.RBFKernel()
        self.double().eval()

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Sparse(gpytorch.models.ApproximateGP):
    def __init__(self, latents: int = 1) -> None:
        q = gpytorch.variational.CholeskyVariationalDistribution(6, batch_shape=torch.Size([latents]))
        inner = gpytorch.variational.VariationalStrategy(self, X.clone(), q)
        super().__init__(
            gpytorch.variational.IndependentMultitaskVariationalStrategy(inner, num_tasks=latents)
            if latents > 1
            else gpytorch.variational.VariationalStrategy(
                self, X.clone(), gpytorch.variational.CholeskyVariationalDistribution(6)
            )
        )
        self.mean_module, self.covar_module = gpytorch.means.ConstantMean(), gpytorch.kernels.RBFKernel()
        self.double().eval()
        inner.variational_params_initialized.fill_(1)
        getattr(self.variational_strategy, "variational_params_initialized", torch.zeros(())).fill_(1)

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_a_reading_stands_for_the_model() -> None:
    model = Model()
    prepared = gplens.read(model)
    expected = gplens.explain(model, X[:2], baseline=0.0, uncertainty=gplens.Diagonal())
    result = gplens.explain(prepared, X[:2], baseline=0.0, uncertainty=gplens.Diagonal())
    torch.testing.assert_close(result.values, expected.values, rtol=1e-12, atol=1e-12)
    assert result.std is not None
    torch.testing.assert_close(result.std, expected.std, rtol=1e-9, atol=1e-12)
    assert result.provenance.notes == expected.provenance.notes


def test_a_reading_of_a_posterior_and_of_functions() -> None:
    posterior = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2).double()), X, Y, noise=0.1)
    functions = gplens.Functions(lambda x: x.sum(1), lambda x: 0 * x[:, 0] + 1, features=2)
    for model in (posterior, functions):
        result = gplens.explain(gplens.read(model, Exp()), X[:2], baseline=0.0)
        expected = gplens.explain(model, X[:2], baseline=0.0, likelihood=Exp())
        assert torch.equal(result.values, expected.values)
        assert result.provenance == expected.provenance


def wrapped(posterior: gplens.Posterior) -> dict[str, gplens.Process]:
    """A posterior in every native process that can hold one."""
    eye, half = torch.eye(2, dtype=torch.float64), torch.full((2,), 0.5, dtype=torch.float64)
    stack, moved = gplens.Stack((posterior, posterior)), gplens.Transformed(posterior, 2 * eye, half)
    curve = SmoothMap.elementwise(2, lambda x: (x.sin(), x.cos()))
    return {
        "alone": posterior,
        "stacked": stack,
        "mixed": gplens.Mix(stack, eye + 1),
        "transformed": moved,
        "beside a transformed one": gplens.Stack((moved, posterior)),
        "curved": Curved(posterior, curve),
        "mixed after a transformation": gplens.Mix(gplens.Transformed(stack, eye, half), eye + 1),
    }


def tensors(posterior: gplens.Posterior) -> dict[str, Tensor]:
    """What a posterior was made from. A numpy array with the same memory changes without a trace in torch."""
    kernel = posterior.kernel
    assert isinstance(kernel, gplens.kernels.RBF)
    return {
        "beta": posterior.beta,
        "Z": posterior.Z,
        "lengthscale": kernel.lengthscale,
        "A": posterior.A.F,
        "A by numpy": torch.from_numpy(posterior.A.F.numpy()),
        "eigenvalues": posterior.A.s,
    }


def small_posterior() -> gplens.Posterior:
    return gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2, dtype=torch.float64)), X.clone(), Y, noise=0.1)


@pytest.mark.parametrize("prepared", [False, True], ids=["model", "reading"])
@pytest.mark.parametrize("where", wrapped(small_posterior()))
@pytest.mark.parametrize("part", tensors(small_posterior()))
def test_a_posterior_that_was_changed_in_place_is_refused(part: str, where: str, prepared: bool) -> None:
    """It keeps scaled copies of its tensors, so that attributions would be those of before the change."""
    posterior = small_posterior()
    process = wrapped(posterior)[where]
    model = gplens.read(process) if prepared else process
    latent = gplens.targets.Latent()
    gplens.explain(model, X[:2], baseline=0.0, target=latent)
    tensors(posterior)[part].mul_(1.1)
    with pytest.raises(ValueError, match="Posterior"):
        gplens.explain(model, X[:2], baseline=0.0, target=latent)


@pytest.mark.parametrize("prepared", [False, True], ids=["model", "reading"])
@pytest.mark.parametrize("part", tensors(small_posterior()))
def test_a_change_that_only_the_path_shows_is_refused(part: str, prepared: bool) -> None:
    """Both ends and the middle are so far from the data that the mean and the variance are those of the prior there."""
    posterior = small_posterior()
    model = gplens.read(posterior) if prepared else posterior
    ends = {"X": [[31.0, 0.8]], "baseline": [-11.0, 0.1], "target": gplens.targets.Latent(), "support": False}
    gplens.explain(model, **ends)
    tensors(posterior)[part][..., 1].mul_(1.5)
    with pytest.raises(ValueError, match=r"Posterior.*create a new one"):
        gplens.explain(model, **ends)


def test_a_posterior_is_not_refused_where_its_kernel_has_few_digits() -> None:
    """exp(-r2/2) is below 1e-308 there, where two ways to the same number differ in most of its digits."""
    Z = torch.rand(20, 3, generator=torch.Generator().manual_seed(0)).double()
    kernel = gplens.kernels.RBF(torch.tensor([0.1, 0.13, 0.3], dtype=torch.float64))
    scaled = gplens.kernels.Scale(kernel, torch.tensor(0.3, dtype=torch.float64))
    prepared = gplens.read(gplens.Posterior.exact(scaled, Z, Z.sum(1).sin(), noise=0.01))
    for distance in torch.linspace(4, 5, 201).tolist():
        prepared.compared(torch.tensor([[distance, 0.3, 0.2]], dtype=torch.float64))


def test_another_likelihood_for_a_reading() -> None:
    model = Sparse()
    prepared = gplens.read(model, gpytorch.likelihoods.PoissonLikelihood())
    result = gplens.explain(prepared, X[:2], baseline=0.0, likelihood=Identity())
    expected = gplens.explain(model, X[:2], baseline=0.0, likelihood=Identity())
    torch.testing.assert_close(result.values, expected.values, rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"GaussianLikelihood.*Exp\(\)"):
        gplens.explain(gplens.read(Model()), X[:2], baseline=0.0, likelihood=Exp())


def test_the_number_of_columns_of_a_reading() -> None:
    with pytest.raises(ValueError, match=r" 2 columns.* 3"):
        gplens.explain(gplens.read(Model()), torch.zeros(1, 3), baseline=0.0)
    with pytest.raises(ValueError, match=r" 2 columns.* 3"):
        gplens.read(Model(), points=np.zeros((1, 3)))


def test_points_far_from_the_support_points_are_compared_too() -> None:
    """A forward that clips its inputs only where no support point is."""

    class Clipped(Model):
        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            return super().forward(x.clamp(-1.5, 1.5))

    model = Clipped()
    prepared = gplens.read(model)
    gplens.explain(prepared, X[:2], baseline=0.0)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(prepared, X[:2] + 2, baseline=0.0)


def test_no_class_is_registered_by_a_call() -> None:
    from botorch.models import SingleTaskGP

    before = set(reading.read_model.registry)

    class Own(SingleTaskGP):
        pass

    with warnings.catch_warnings(action="ignore"):  # of data that are not scaled
        model = Own(X, Y[:, None], outcome_transform=None).eval()
    gplens.explain(model, X[:2], baseline=0.0)
    added = {kind.__module__.partition(".")[0] for kind in set(reading.read_model.registry) - before}
    assert Own not in reading.read_model.registry
    assert added <= {"botorch", "gpytorch", "sklearn"}


class Estimator(BaseEstimator, FittedEstimator):
    """As gplens' own estimators, with the bases in the less lucky order."""

    def __init__(self, classes: Any = None) -> None:
        self.classes = classes

    @property
    def class_names(self) -> Any:
        return self.classes


def fitted(classes: Any, latents: int = 1) -> Estimator:
    estimator = Estimator(classes)
    estimator.model_ = Sparse(latents)
    estimator.posterior_ = gplens.read(estimator.model_).process
    estimator.likelihood_ = (
        gpytorch.likelihoods.BernoulliLikelihood()
        if latents == 1
        else gpytorch.likelihoods.SoftmaxLikelihood(num_classes=latents, mixing_weights=False)
    )
    return estimator


def test_estimators_name_their_outputs() -> None:
    def outputs(estimator: Estimator) -> Any:
        likelihood = gplens.read(estimator).likelihood
        return None if likelihood is None else likelihood.outputs

    assert outputs(fitted(None)) is None
    assert outputs(fitted(np.array([0, 1]))) == ("P(y = class 1)",)
    assert outputs(fitted(("no", "yes"))) == ("P(y = yes)",)
    assert outputs(fitted((3, "b", 5), 3)) == ("class 3", "b", "class 5")
    assert class_names(np.array(["a", "b"])) == ("a", "b")
    assert output_names(["a", "b"], 2) == ("a", "b")


def test_estimators_are_read_as_they_are_now() -> None:
    estimator = fitted((0, 1))
    prepared = gplens.read(estimator)
    assert prepared.model == "Estimator"
    gplens.explain(prepared, X[:2], baseline=0.0)
    estimator.model_ = Sparse()
    with pytest.raises(ValueError, match=r"Estimator.*gplens\.read\(model\)"):
        gplens.explain(prepared, X[:2], baseline=0.0)
    with pytest.raises(ValueError, match=r"Estimator.*fit\(X, y\)"):
        gplens.read(Estimator())


@pytest.fixture
def untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "version", lambda package: "9.1.0")


def test_a_missing_attribute_of_an_untested_version(untested: None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model()

    def missing(self: Any) -> None:
        raise AttributeError("_memoize_cache")

    monkeypatch.setattr(Model, "train_inputs", property(missing), raising=False)
    with pytest.raises(ImportError, match=r"gpytorch>=[\d.]+,<[\d.]+.*9\.1\.0.*train_inputs.*pip install"):
        gplens.read(model)


def test_a_missing_name_of_an_untested_version(untested: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gplens.adapters.gpytorch", None)  # what an import that fails does
    with pytest.raises(ImportError, match=r"gpytorch>=[\d.]+,<[\d.]+.*9\.1\.0"):
        gplens.read(Model())


def test_an_error_of_a_tested_version_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "forward", lambda self, x: self.no_such_thing)
    with pytest.raises(AttributeError, match="no_such_thing"):
        gplens.read(Model())


def test_every_host_is_installed_in_a_tested_version() -> None:
    for root, host in hosts.HOSTS.items():
        cause = AttributeError(root)
        assert host.explained(cause) is cause
        assert isinstance(sys.modules.get(host.adapter, ModuleType(root)), ModuleType)


def test_a_library_without_metadata_shows_its_own_error() -> None:
    cause = AttributeError("no such attribute")
    assert hosts.Library("nowhere.adapter", "a-library-that-pip-does-not-know").explained(cause) is cause
