"""A user's model is left exactly as it was, whatever state it was in, and so is everything around it."""

from collections.abc import Callable
from functools import cache
from typing import Any

import gpytorch
import pytest
import torch
from gpytorch_entries import Entry, Host
from gpytorch_zoo import BY_NAME, EVERY_MODEL

import gplens

each_model = pytest.mark.parametrize("entry", EVERY_MODEL, ids=lambda entry: entry.name)


def as_fitted(host: Host) -> None:
    """In evaluation mode, never called since."""


def in_training(host: Host) -> None:
    host.model.train()
    host.likelihood.train()
    host.model(host.data.x)


def with_gradients(host: Host) -> None:
    in_training(host)
    f = host.model(host.data.x)
    (f.mean.sum() + f.variance.sum()).backward()
    next(host.model.parameters()).requires_grad_(False)


def called_with_a_graph(host: Host) -> None:
    """Caches that are part of an autograd graph."""
    host.model(host.data.inputs[:1]).variance.sum()


def called_in_inference_mode(host: Host) -> None:
    with torch.inference_mode():
        host.model(host.data.inputs).variance.sum()


STATES = [as_fitted, in_training, with_gradients, called_with_a_graph, called_in_inference_mode]


def settings() -> dict[str, dict[str, Any]]:
    """Every number and switch of gpytorch.settings. A switch that was never used has no `_state`, which means None."""
    classes = {name: item for name, item in vars(gpytorch.settings).items() if isinstance(item, type)}
    plain = (bool, int, float, str, type(None), torch.dtype)
    return {
        name: {"_state": None} | {k: v for k, v in vars(item).items() if isinstance(v, plain)}
        for name, item in classes.items()
    }


def look(module: torch.nn.Module) -> dict[str, Any]:
    """Everything about a module that a call could change; tensors as bytes, caches by identity."""
    parts = dict(module.named_modules())
    caches = {name: getattr(part, "_memoize_cache", None) for name, part in parts.items()}
    return {
        "training": {name: part.training for name, part in parts.items()},
        "identity": {name: id(part) for name, part in parts.items()},
        "attributes": {name: {k: id(v) for k, v in vars(part).items()} for name, part in parts.items()},
        "state": {name: (tensor.dtype, tensor.tolist()) for name, tensor in module.state_dict().items()},
        "gradients": {
            name: (id(p), p.requires_grad, None if p.grad is None else (id(p.grad), p.grad.tolist()))
            for name, p in module.named_parameters()
        },
        "caches": {name: cache and {k: id(v) for k, v in cache.items()} for name, cache in caches.items()},
        "strategy": id(getattr(module, "prediction_strategy", None)),
    }


def world() -> tuple[Any, ...]:
    return settings(), torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_rng_state().tolist()


def explain(host: Host) -> gplens.Explanation:
    return gplens.explain(host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood)


@cache
def values(entry: Entry) -> torch.Tensor:
    """Of a model that nobody has touched."""
    return explain(entry.fresh()).values


@each_model
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_the_model_is_left_as_it_was(entry: Entry, state: Callable[[Host], None]) -> None:
    host = entry.fresh()
    state(host)
    before = look(host.model), look(host.likelihood), world()
    result = explain(host)
    assert (look(host.model), look(host.likelihood), world()) == before
    assert torch.equal(result.values, values(entry))


@each_model
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode], ids=["no_grad", "inference_mode"])
def test_the_values_do_not_depend_on_the_grad_mode_of_the_caller(entry: Entry, mode: Callable[[], Any]) -> None:
    host = entry.fresh()
    with mode():
        result = gplens.explain(
            host.model, host.data.inputs.clone(), baseline=host.data.baseline.clone(), likelihood=host.likelihood
        )
    assert torch.equal(result.values, values(entry))


def test_a_failed_explanation_leaves_the_model_as_it_was() -> None:
    host = BY_NAME["svgp rbf own exp counts"].fresh()
    in_training(host)
    before = look(host.model), world()
    with pytest.raises(ValueError, match="columns"):
        gplens.explain(host.model, host.data.inputs[:, :2], baseline=0.0, likelihood=host.likelihood)
    assert (look(host.model), world()) == before


def test_training_goes_on_after_an_explanation() -> None:
    host = BY_NAME["svgp rbf own exp counts"].fresh()
    in_training(host)
    f = host.model(host.data.x)
    explain(host)
    f.mean.sum().backward()
    assert all(p.grad is not None for p in host.model.covar_module.parameters())
