"""BoTorch's models that are not on the CPU, with their transforms."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Log, Normalize, Standardize
from botorch.models.transforms.input import ChainedInputTransform, Log10
from botorch_zoo import branin

import gplens
from devices import Away, device, moved

pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.BotorchWarning")


def scaled() -> Any:
    X, Y = branin()
    return SingleTaskGP(X, Y, input_transform=Normalize(d=2), outcome_transform=Standardize(m=1))


def curved() -> Any:
    X, Y = branin()
    inputs = ChainedInputTransform(log=Log10(indices=[0]), scale=Normalize(d=2))
    return SingleTaskGP(X.abs() + 1, Y.abs() + 1, input_transform=inputs, outcome_transform=Log())


def given_noise() -> Any:
    X, Y = branin()
    return SingleTaskGP(X / 15, Y, torch.full_like(Y, 0.1))


def listed() -> Any:
    return ModelListGP(scaled(), given_noise())


@pytest.mark.parametrize("make", [curved, listed])
@pytest.mark.parametrize("target", [None, gplens.targets.EpistemicVariance()], ids=repr)
def test_another_device(make: Callable[[], Any], target: gplens.targets.Target | None) -> None:
    X, x0 = torch.tensor([[2.0, 11.0], [8.0, 3.0]], dtype=torch.float64), torch.tensor([1.0, 4.0], dtype=torch.float64)
    with warnings.catch_warnings(action="ignore"):
        here, there = make().eval(), make().eval()
    expected = gplens.explain(here, X, baseline=x0, target=target)
    with device(), warnings.catch_warnings(action="ignore"):
        result = gplens.explain(moved(there), X, baseline=x0, target=target)
        assert {type(tensor) for tensor in there.state_dict().values()} <= {Away}
    assert not isinstance(result.values, Away)
    torch.testing.assert_close(result.values, expected.values, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(result.prediction, expected.prediction, rtol=1e-9, atol=1e-12)
