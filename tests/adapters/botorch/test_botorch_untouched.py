"""A user's model is left exactly as it was, in training and after, with caches and gradients, and so is the world."""

import warnings
from collections.abc import Callable
from typing import Any

import gpytorch
import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Log
from botorch.models.transforms.input import ChainedInputTransform, Normalize, Warp
from botorch_zoo import PLANE, branin, tensors

import gplens


def bent() -> Any:
    """A Normalize that learns its bounds when it is called in training, and a Warp with parameters."""
    X, Y = branin()
    return SingleTaskGP(X, Y, input_transform=ChainedInputTransform(a=Normalize(d=2), b=Warp(d=2, indices=[0, 1])))


def side_by_side() -> Any:
    X, Y = branin()
    return ModelListGP(SingleTaskGP(X, Y, input_transform=Normalize(d=2)), SingleTaskGP(X, -Y, outcome_transform=Log()))


def as_made(model: Any) -> None:
    """In training mode, never called."""


def after_training(model: Any) -> None:
    model.train()
    model.eval()


def with_gradients(model: Any) -> None:
    first = model.models[0] if hasattr(model, "models") else model
    first.train()
    first(*first.train_inputs).mean.sum().backward()
    next(first.parameters()).requires_grad_(False)


def asked_before(model: Any) -> None:
    """Caches that are part of an autograd graph."""
    model.posterior(torch.as_tensor(PLANE[0]).requires_grad_()).mean.sum()


def asked_without_gradients(model: Any) -> None:
    with torch.inference_mode():
        _ = model.posterior(torch.as_tensor(PLANE[0])).mean


STATES = [as_made, after_training, with_gradients, asked_before, asked_without_gradients]


def world() -> tuple[Any, ...]:
    settings = (gpytorch.settings.fast_pred_var, gpytorch.settings.debug, gpytorch.settings.skip_posterior_variances)
    switches = [setting.on() for setting in settings], gpytorch.settings.max_cholesky_size.value()
    return switches, torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_rng_state().tolist()


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
@pytest.mark.parametrize("make", [bent, side_by_side], ids=lambda make: make.__name__)
def test_whatever_its_state(make: Callable[[], Any], state: Callable[[Any], None]) -> None:
    with warnings.catch_warnings(action="ignore"):
        model = make()
        state(model)
    before, around = tensors(model), world()
    options = {"baseline": PLANE[1], "uncertainty": gplens.Diagonal(), "tolerance": 1e-3}
    first = gplens.explain(model, PLANE[0][:1], **options)
    assert tensors(model) == before
    assert world() == around
    again = gplens.explain(model, PLANE[0][:1], **options)
    assert torch.equal(first.values, again.values)
    with torch.no_grad():
        mean = model.posterior(torch.as_tensor(PLANE[0][:1])).mean
    torch.testing.assert_close(first.prediction.reshape(mean.shape), mean, rtol=1e-8, atol=1e-8)


def test_a_change_of_the_model_is_seen() -> None:
    model = bent()
    before = gplens.explain(model, PLANE[0], baseline=PLANE[1])
    model.covar_module.lengthscale = 2 * model.covar_module.lengthscale.detach()
    model.eval()
    after = gplens.explain(model, PLANE[0], baseline=PLANE[1])
    assert (before.values - after.values).abs().max() > 1e-3
    mean = model.posterior(torch.as_tensor(PLANE[0])).mean[:, 0].detach()
    torch.testing.assert_close(after.prediction, mean, rtol=1e-8, atol=1e-8)
