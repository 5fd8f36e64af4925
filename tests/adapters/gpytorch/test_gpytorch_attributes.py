"""Whatever else a user keeps on a model does not stop an explanation, and is left alone."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpytorch
import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import gplens

X = torch.linspace(0, 4, 30, dtype=torch.float64).reshape(15, 2)
Y = torch.sin(X[:, 0]) + X[:, 1]


class Model(gpytorch.models.ExactGP):
    def __init__(self) -> None:
        super().__init__(X, Y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=2))
        self.double()

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def loader() -> DataLoader[Any]:
    return DataLoader(TensorDataset(X, Y), batch_size=4)


def containing_itself(container: Any) -> Any:
    container.append(container) if isinstance(container, list) else container.update(a=container)
    return container


def with_hook(model: Any) -> Any:
    return model.covar_module.register_forward_hook(lambda *args: None)


ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "lock": lambda model: threading.Lock(),
    "generator": lambda model: (i for i in range(3)),
    "logger": lambda model: logging.getLogger("a"),
    "loader": lambda model: loader(),
    "iterator of a loader": lambda model: iter(loader()),
    "losses in a dictionary": lambda model: {"loss": (model.likelihood.noise * 2).sum()},
    "losses in a list": lambda model: [(model.likelihood.noise * 2).sum()],
    "losses in dictionaries in a list": lambda model: [{"loss": (model.likelihood.noise * 2).sum()}],
    "loss": lambda model: (model.likelihood.noise * 2).sum(),
    "last prediction": lambda model: model(X[:2] + 0.1),
    "optimizer": lambda model: torch.optim.Adam(model.parameters()),
    "list that contains itself": lambda model: containing_itself([]),
    "dictionary that contains itself": lambda model: containing_itself({}),
    "tuple in a list that contains it": lambda model: (lambda inner: inner.append((inner,)) or (inner,))([]),
    "module": lambda model: torch,
    "sparse tensor": lambda model: torch.eye(3).to_sparse(),
    "tensor without values": lambda model: torch.empty(3, device="meta"),
    "slices and sets": lambda model: [slice(1), ..., {1, 2}],
    "bound method": lambda model: model.covar_module.forward,
    "hook": with_hook,
    "the model itself in a list": lambda model: [model],
    "whole numbers": lambda model: torch.arange(3),
}


def host(model: Any) -> torch.Tensor:
    model.train()
    model.eval()
    with torch.no_grad():
        return model(X[:2] + 0.3).mean


@pytest.mark.parametrize("make", ATTRIBUTES.values(), ids=ATTRIBUTES.keys())
def test_any_attribute_may_be_on_a_model(make: Callable[[Any], Any]) -> None:
    model = Model().eval()
    attribute = model.extra = make(model)
    before = {name: id(value) for name, value in vars(model).items()}
    explanation = gplens.explain(model, X[:2] + 0.3, baseline=0.0)
    assert {name: id(value) for name, value in vars(model).items()} == before
    assert model.extra is attribute
    torch.testing.assert_close(explanation.prediction, host(model), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["sparse tensor", "tensor without values", "loss"])
def test_a_reading_of_a_model_with_a_likelihood_that_keeps_it(name: str) -> None:
    """Tensors of a likelihood are compared between two calls, as those of fixed noise; not all kinds can be."""
    model = Model().eval()
    model.likelihood.extra = ATTRIBUTES[name](model)
    prepared = gplens.read(model)
    for _ in range(3):
        explanation = gplens.explain(prepared, X[:2] + 0.3, baseline=0.0)
    torch.testing.assert_close(explanation.prediction, host(model), rtol=1e-9, atol=1e-9)


def test_a_model_without_values_is_refused() -> None:
    with pytest.raises(ValueError, match=r"raw_noise.*meta.*to_empty"):
        gplens.explain(Model().to("meta").eval(), X[:2], baseline=0.0)


def test_an_open_file_may_be_on_a_model(tmp_path: Path) -> None:
    model = Model().eval()
    with (tmp_path / "log").open("w") as file:
        model.log = file  # type: ignore[assignment]
        gplens.explain(model, X[:2], baseline=0.0)
        file.write("still open")


class Counting(Model):
    """Remembers how often it was asked, in all the ways in which a module can."""

    def __init__(self) -> None:
        super().__init__()
        self.calls, self.history = 0, [0]
        self.register_buffer("counter", torch.zeros(()))
        self.unregistered = [torch.nn.BatchNorm1d(2).double()]

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        self.calls += 1
        self.history.append(self.calls)
        self.counter += 1
        self.unregistered[0](torch.cat([x, x + 1]).detach())
        torch.rand(1)
        return super().forward(x)


def test_what_a_forward_changes_is_put_back() -> None:
    model = Counting().eval()
    norm, state = model.unregistered[0], torch.get_rng_state()
    explanation = gplens.explain(model, X[:2], baseline=0.0)
    assert (model.calls, model.history, float(model.counter)) == (0, [0], 0.0)
    assert norm.running_mean is not None
    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert torch.equal(torch.get_rng_state(), state)
    assert explanation.values.isfinite().all()


def test_a_network_in_a_plain_list_of_a_float32_model() -> None:
    """Which torch does not convert with the model, and the shadow does."""

    class Listed(Model):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.nets = [torch.nn.Linear(2, 2)]

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return super().forward(self.nets[0](x))

    model = Listed().float().eval()
    explanation = gplens.explain(model, X[:2], baseline=0.0)
    with torch.no_grad():
        torch.testing.assert_close(explanation.prediction, model(X[:2].float()).mean.double(), rtol=1e-3, atol=1e-3)
