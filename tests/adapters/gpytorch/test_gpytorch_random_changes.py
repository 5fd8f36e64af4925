"""A number that forward() uses, kept wherever Python can keep one, changed between two calls; other attributes."""

import array
import io
import logging
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch_changing import ENTRIES, GLOBALS, Changing, Holder, exact, sparse
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

import gplens
from seeds import fresh_seed

LATENT = gplens.targets.Latent()


def host(model: Any, X: Tensor) -> Tensor:
    """The model's own prediction, its caches dropped as a change of mode drops them."""
    model.train()
    model.eval()
    with torch.no_grad():
        return model(X.to(next(model.parameters()))).mean.double()


def check_change(seed: int, case: int) -> None:
    """Explained as it is now; a Reading from before the change is refused, unless the predictions are the same."""
    rng = np.random.default_rng([seed, case])
    name = str(rng.choice(sorted(ENTRIES)))
    make, dtype = (exact, sparse)[rng.integers(2)], (torch.float64, torch.float32)[int(rng.random() < 0.25)]
    model = make(rng, ENTRIES[name], float(rng.uniform(0.5, 1.5))).to(dtype).eval()
    X, x0 = torch.as_tensor(4 * rng.random((2, 2))), torch.as_tensor(4 * rng.random(2))
    label = f"seed {seed}, case {case}: {name} of {make.__name__} in {dtype}"
    same = 1e-7 if dtype == torch.float64 else 1e-2
    likelihood = None if isinstance(model, gpytorch.models.ExactGP) else gpytorch.likelihoods.GaussianLikelihood()
    try:
        reading = gplens.read(model, likelihood)
        before = gplens.explain(reading, X, baseline=x0, target=LATENT)
        torch.testing.assert_close(before.prediction, host(model, X), rtol=same, atol=same)
        model.holder.write(model, float(model.holder.read(model)) * float(rng.uniform(1.3, 2.5)))
        try:
            stale = gplens.explain(reading, X, baseline=x0, target=LATENT)
        except ValueError as error:
            assert "gplens.read(model)" in str(error)  # noqa: PT017
        else:  # it is what the model predicts now, in the precision in which it can be compared
            limit = 5e-6 if dtype == torch.float64 else 5e-2
            assert (stale.prediction - host(model, X)).abs().max() <= limit
        after = gplens.explain(model, X, baseline=x0, target=LATENT)
        torch.testing.assert_close(after.prediction, host(model, X), rtol=same, atol=same)
    except BaseException as error:
        raise AssertionError(label) from error
    finally:
        GLOBALS.clear()
        Changing.number = 1.0


@pytest.mark.slow
def test_random_changes() -> None:
    for case in range(20):
        check_change(0, case)


@pytest.mark.slow
def test_random_changes_with_another_seed() -> None:
    seed = fresh_seed()
    for case in range(250):
        check_change(seed, case)


def containing_itself(kind: type) -> Any:
    container: Any = kind()
    container.update(a=container) if kind is dict else container.append(container)
    return container


def loader() -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.arange(12.0)), batch_size=4)


THINGS: dict[str, Callable[[Any], Any]] = {
    "lock": lambda model: threading.RLock(),
    "condition": lambda model: threading.Condition(),
    "thread": lambda model: threading.Thread(target=print),
    "local": lambda model: threading.local(),
    "generator": lambda model: (i for i in range(3)),
    "file": lambda model: io.BufferedReader(io.BytesIO(b"text")),
    "logger": lambda model: logging.getLogger("a"),
    "iterator": lambda model: iter(loader()),
    "loader": lambda model: loader(),
    "loss": lambda model: (next(model.parameters()) * 2).sum(),
    "prediction": lambda model: MultivariateNormal(torch.ones(2, requires_grad=True) * 2, torch.eye(2)),
    "optimizer": lambda model: torch.optim.Adam(model.parameters()),
    "random numbers": lambda model: torch.Generator().manual_seed(3),
    "list in itself": lambda model: containing_itself(list),
    "dictionary in itself": lambda model: containing_itself(dict),
    "deque in itself": lambda model: containing_itself(deque),
    "weak reference": lambda model: weakref.ref(model),
    "memory": lambda model: memoryview(array.array("d", [1.0])),
    "function": lambda model: lambda x: x,
    "partial": lambda model: partial(print, model),
    "namespace": lambda model: SimpleNamespace(model=model),
    "module": lambda model: torch.nn.Linear(2, 2),
    "class": lambda model: Holder,
    "sparse": lambda model: torch.eye(3).to_sparse(),
    "complex": lambda model: torch.ones(2, dtype=torch.complex64),
    "method": lambda model: model.forward,
    "hook": lambda model: model.register_forward_hook(lambda *args: None),
    "numbers": lambda model: np.ones(3),
    "model": lambda model: model,
}


def wrapped(rng: np.random.Generator, thing: Any) -> Any:
    """The thing in random containers."""
    for _ in range(int(rng.integers(4))):
        thing = [lambda x: [x, 1], lambda x: {"a": x}, lambda x: (x, None), lambda x: {1: [x]}][rng.integers(4)](thing)
    return thing


def check_attribute(seed: int, case: int) -> None:
    """Things of all kinds in all parts of a model: explained as the model predicts, and all of them left alone."""
    rng = np.random.default_rng([seed, case])
    model = (exact, sparse)[rng.integers(2)](rng, ENTRIES["namespace"], 1.0).eval()
    names = [str(name) for name in rng.choice(sorted(THINGS), size=3)]
    parts = list(model.modules())
    for i, name in enumerate(names):
        part = parts[rng.integers(len(parts))]
        part.__dict__[f"extra_{i}"] = wrapped(rng, THINGS[name](model))
    attributes = [{key: id(value) for key, value in vars(part).items()} for part in parts]
    X, x0 = torch.as_tensor(4 * rng.random((2, 2))), torch.as_tensor(4 * rng.random(2))
    try:
        e = gplens.explain(model, X, baseline=x0, target=LATENT)
        assert [{key: id(value) for key, value in vars(part).items()} for part in parts] == attributes
        with torch.no_grad():
            torch.testing.assert_close(e.prediction, model(X).mean, rtol=1e-8, atol=1e-8)
    except BaseException as error:
        raise AssertionError(f"seed {seed}, case {case}: {names}") from error
    finally:  # GPyTorch shares some of its modules between models
        for part in parts:
            for key in [key for key in vars(part) if key.startswith("extra_")]:
                del part.__dict__[key]


def test_random_attributes() -> None:
    for case in range(20):
        check_attribute(0, case)


@pytest.mark.slow
def test_random_attributes_with_another_seed() -> None:
    seed = fresh_seed()
    for case in range(250):
        check_attribute(seed, case)
