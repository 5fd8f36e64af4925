"""A model that changes between two calls is explained as it is now, and a Reading from before the change is refused."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP, SingleTaskVariationalGP
from botorch.models.transforms import Log, Normalize, Standardize
from botorch_zoo import PLANE, branin
from gpytorch.kernels import MaternKernel

import gplens

pytestmark = pytest.mark.filterwarnings(
    "ignore:Data:botorch.exceptions.warnings.InputDataWarning"
)  # BoTorch, of data that are not scaled
X, BASELINE = (torch.as_tensor(part) for part in PLANE)


def single(dtype: torch.dtype = torch.float64) -> Any:
    inputs, outcomes = (tensor.to(dtype) for tensor in branin())
    with warnings.catch_warnings(action="ignore"):
        return SingleTaskGP(inputs, outcomes, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1)).eval()


def listed() -> Any:
    inputs, outcomes = branin()
    with warnings.catch_warnings(action="ignore"):
        return ModelListGP(single(), SingleTaskGP(inputs, outcomes.abs() + 1, outcome_transform=Log())).eval()


def first(model: Any) -> Any:
    return model.models[0] if isinstance(model, ModelListGP) else model


def lengthscale(model: Any, patch: pytest.MonkeyPatch) -> None:
    first(model).covar_module.raw_lengthscale.data.add_(0.3)


def loaded_state(model: Any, patch: pytest.MonkeyPatch) -> None:
    state = {name: tensor.clone() for name, tensor in first(model).state_dict().items()}
    state["covar_module.raw_lengthscale"] += 0.2
    first(model).load_state_dict(state)


def noise(model: Any, patch: pytest.MonkeyPatch) -> None:
    first(model).likelihood.noise = 0.3


def training_data(model: Any, patch: pytest.MonkeyPatch) -> None:
    part = first(model)
    part.train()
    part.set_train_data(targets=part.train_targets * 1.5, strict=False)
    part.eval()


def bounds_of_inputs(model: Any, patch: pytest.MonkeyPatch) -> None:
    part = first(model)
    part.train()
    part.input_transform.eval()
    part.input_transform._coefficient *= 1.5
    part.eval()


def scale_of_outcomes(model: Any, patch: pytest.MonkeyPatch) -> None:
    first(model).outcome_transform.stdvs.mul_(2.0)
    first(model).outcome_transform._stdvs_sq.mul_(4.0)


def another_kernel(model: Any, patch: pytest.MonkeyPatch) -> None:
    first(model).covar_module = MaternKernel(1.5).to(next(model.parameters()))


CHANGES = [lengthscale, loaded_state, noise, training_data, bounds_of_inputs, scale_of_outcomes, another_kernel]
Change = Callable[[Any, pytest.MonkeyPatch], None]


def host(model: Any) -> torch.Tensor:
    model.train()
    model.eval()
    with torch.no_grad(), warnings.catch_warnings(action="ignore"):
        return model.posterior(X.to(next(model.parameters()))).mean.double()


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("make", [single, listed], ids=lambda make: make.__name__)
def test_a_changed_model_is_explained_as_it_is_now(
    make: Callable[[], Any], change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make()
    reading, before = gplens.read(model), gplens.explain(model, X, baseline=BASELINE)
    prepared = gplens.explain(reading, X, baseline=BASELINE)
    torch.testing.assert_close(prepared.values, before.values, rtol=1e-9, atol=1e-9)
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=r"gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=BASELINE)
    after = gplens.explain(model, X, baseline=BASELINE)
    torch.testing.assert_close(after.prediction.reshape(len(X), -1), host(model), rtol=1e-7, atol=1e-7)
    assert (after.values - before.values).abs().max() > 1e-5


def test_a_slight_change_of_a_float32_model_is_noticed() -> None:
    model = single(torch.float32)
    reading = gplens.read(model)
    gplens.explain(reading, X, baseline=BASELINE)
    model.covar_module.raw_lengthscale.data.add_(1e-4)
    with pytest.raises(ValueError, match=r"raw_lengthscale.*gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=BASELINE)


def test_another_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    model = single()
    reading, posterior = gplens.read(model), SingleTaskGP.posterior
    monkeypatch.setattr(SingleTaskGP, "posterior", lambda self, X, **options: posterior(self, X + 0.1, **options))
    for subject in (reading, model):
        with pytest.raises(ValueError, match="posterior mean of"):
            gplens.explain(subject, X, baseline=BASELINE)


def test_another_model_in_a_list() -> None:
    model = listed()
    reading = gplens.read(model)
    model.models[0] = single()
    with pytest.raises(ValueError, match=r"ModelListGP.*gplens\.read\(model\)"):
        gplens.explain(reading, X, baseline=BASELINE)


def test_a_variational_model_with_a_transform_is_read_at_given_points() -> None:
    inputs, outcomes = branin()
    torch.manual_seed(0)
    with warnings.catch_warnings(action="ignore"):  # of minibatches
        model: Any = SingleTaskVariationalGP(inputs, outcomes, inducing_points=8, input_transform=Normalize(d=2))
    model = model.double().eval()
    model.model.variational_strategy.variational_params_initialized.fill_(1)
    model.model.variational_strategy._variational_distribution.variational_mean.data.normal_()
    with pytest.raises(ValueError, match="points=X"):
        gplens.read(model)
    prepared = gplens.explain(gplens.read(model, points=X), X, baseline=BASELINE)
    torch.testing.assert_close(prepared.prediction, host(model)[:, 0], rtol=1e-7, atol=1e-7)
    plain = SingleTaskVariationalGP(inputs, outcomes, inducing_points=8).double().eval()
    plain.model.variational_strategy.variational_params_initialized.fill_(1)
    assert gplens.read(plain).process.features == 2
