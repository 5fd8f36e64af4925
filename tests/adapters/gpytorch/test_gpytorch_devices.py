"""Models that are not on the CPU: read in float64 on the CPU, compared with the live model where it is."""

from typing import Any

import gpytorch
import pytest
import torch
from gpytorch_zoo import BY_NAME
from torch import Tensor

import gplens
from devices import DEVICE, Away, device, moved

NAMES = sorted(BY_NAME)


def explain(model: Any, likelihood: Any, X: Tensor, x0: Tensor, **options: Any) -> gplens.Explanation:
    target = None if likelihood is not None or hasattr(model, "likelihood") else gplens.targets.Latent()
    return gplens.explain(model, X, baseline=x0, likelihood=likelihood, target=target, **options)


def check(name: str) -> None:
    """The same attributions as on the CPU, in tensors of the CPU; and the model stays where it is."""
    host, other = BY_NAME[name].fresh(), BY_NAME[name].fresh()
    X, x0 = host.data.inputs[:2], host.data.baseline
    rule = gplens.rules.GaussLegendre(3)
    expected = explain(host.model, host.likelihood, X, x0, rule=rule)
    with device():
        inside = getattr(other.model, "likelihood", None) is other.likelihood
        model = moved(other.model)
        likelihood = model.likelihood if inside else moved(other.likelihood)
        result = explain(model, likelihood, X, x0, rule=rule)
        assert {type(tensor) for tensor in model.state_dict().values()} <= {Away}
    assert not isinstance(result.values, Away)
    assert result.values.device == torch.device("cpu")
    size = expected.values.abs().max()
    assert (result.values - expected.values).abs().max() <= 1e-9 * size
    assert (result.prediction - expected.prediction).abs().max() <= 1e-9 * (1 + expected.prediction.abs().max())


@pytest.mark.parametrize("name", NAMES[::4])
def test_some_models_on_another_device(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_model_on_another_device(name: str) -> None:
    check(name)


def test_the_device_refuses_tensors_of_the_cpu() -> None:
    """So that the tests above would fail if a tensor were left on the other side."""
    with torch.no_grad(), device():
        there, here = torch.ones(2, device=DEVICE), torch.ones(2)
        with pytest.raises(RuntimeError, match=str(DEVICE)):
            torch.add(there, here)
        assert torch.add(there, there).cpu().tolist() == [2.0, 2.0]


def test_a_change_on_the_device_is_noticed() -> None:
    host = BY_NAME["svgp rbf gaussian"].fresh()
    X, x0 = host.data.inputs[:1], host.data.baseline
    with device(), torch.no_grad():
        model = moved(host.model)
        reading = gplens.read(model, host.likelihood)
        gplens.explain(reading, X, baseline=x0)
        next(model.covar_module.parameters()).add_(0.1)
        with pytest.raises(ValueError, match=r"covar_module.*gplens\.read\(model\)"):
            gplens.explain(reading, X, baseline=x0)


@pytest.mark.parametrize("mixing", [True, False])
def test_mixing_weights_on_the_device(mixing: bool) -> None:
    torch.manual_seed(0)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_features=3, num_classes=3, mixing_weights=mixing).double()
    name = "tasks that share kernel and points"
    host = BY_NAME[name].fresh()
    posterior = gplens.Posterior.exact(
        gplens.kernels.RBF(torch.ones(3, dtype=torch.float64)), host.data.inputs, host.data.inputs.sum(1), noise=0.1
    )
    three = gplens.Posterior(
        posterior.kernel,
        posterior.Z,
        posterior.beta * torch.tensor([[1.0], [-0.5], [2.0]], dtype=torch.float64),
        posterior.A,
    )
    X, x0 = host.data.inputs[:1] + 0.2, host.data.baseline
    expected = gplens.explain(three, X, baseline=x0, likelihood=likelihood)
    with device():
        result = gplens.explain(three, X, baseline=x0, likelihood=moved(likelihood))
    assert not isinstance(result.values, Away)
    assert (result.values - expected.values).abs().max() <= 1e-12
