"""Models whose forward() uses a number that is kept in one of many places, which torch does not register."""

import array
from collections import deque
from collections.abc import Callable
from functools import partial
from types import MethodType, SimpleNamespace
from typing import Any, NamedTuple

import gpytorch
import numpy as np
import torch
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import MaternKernel, RBFKernel, RQKernel, ScaleKernel
from gpytorch_models import Sparse
from torch import Tensor

GLOBALS: dict[str, float] = {}


class Holder(NamedTuple):
    """Where the number is: how it is put there, read, and changed."""

    put: Callable[[Any, float], None]
    read: Callable[[Any], Any]
    write: Callable[[Any, float], None]


class Changing:
    """z = number * x."""

    number = 1.0
    holder: Holder

    def forward(self, x: Tensor) -> MultivariateNormal:
        z = x * float(self.holder.read(self))
        return MultivariateNormal(self.mean_module(z), self.covar_module(z))  # type: ignore[attr-defined]


class ChangingExact(Changing, gpytorch.models.ExactGP):
    pass


class ChangingSparse(Changing, Sparse):
    pass


class Slots:
    __slots__ = ("value",)

    def __init__(self, value: float) -> None:
        self.value = value

    def __call__(self) -> float:
        return self.value


def closure(value: float) -> tuple[Callable[[], float], Callable[[float], None]]:
    def read() -> float:
        return value

    def write(new: float) -> None:
        nonlocal value
        value = new

    return read, write


def patched(model: Any, value: float) -> None:
    model.scale = MethodType(lambda self: value, model)


def attribute(make: Callable[[float], Any], read: Callable[[Any], Any], write: Callable[[Any, float], None]) -> Holder:
    """An object in the attribute `box`."""

    def put(model: Any, value: float) -> None:
        model.__dict__["box"] = make(value)

    return Holder(put, lambda model: read(model.box), lambda model, value: write(model.box, value))


def replaced(make: Callable[[float], Any], read: Callable[[Any], Any]) -> Holder:
    """Another object in the place of the one before, often at its address."""

    def put(model: Any, value: float) -> None:
        model.__dict__.pop("box", None)
        model.__dict__["box"] = make(value)

    return Holder(put, lambda model: read(model.box), put)


def fill(box: Any, value: float) -> None:
    box[0] = value


ENTRIES = {
    "namespace": attribute(lambda v: SimpleNamespace(v=v), lambda b: b.v, lambda b, v: setattr(b, "v", v)),
    "numpy in place": attribute(lambda v: np.array([v]), lambda b: b[0], fill),
    "list": attribute(lambda v: [v], lambda b: b[0], fill),
    "deque": attribute(lambda v: deque([v]), lambda b: b[0], fill),
    "array": attribute(lambda v: array.array("d", [v]), lambda b: b[0], fill),
    "dictionary in a list": attribute(lambda v: [{"a": v}], lambda b: b[0]["a"], lambda b, v: b[0].update(a=v)),
    "tensor in a tuple": attribute(lambda v: (torch.tensor([v]),), lambda b: b[0], lambda b, v: b[0].fill_(v)),
    "tensor in a namespace": attribute(
        lambda v: SimpleNamespace(v=torch.tensor([v])), lambda b: b.v, lambda b, v: b.v.fill_(v)
    ),
    "slots": attribute(Slots, lambda b: b(), lambda b, v: setattr(b, "value", v)),
    "closure": attribute(closure, lambda b: b[0](), lambda b, v: b[1](v)),
    "defaults": attribute(lambda v: lambda x=v: x, lambda b: b(), lambda b, v: setattr(b, "__defaults__", (v,))),
    "net in a list": attribute(
        lambda v: [torch.nn.Bilinear(1, 1, 1)],
        lambda b: 1 + b[0].weight.detach().abs(),
        lambda b, v: b[0].weight.data.fill_(v),
    ),
    "another object": replaced(Slots, lambda b: b()),
    "another partial": replaced(lambda v: partial(float, v), lambda b: b()),
    "another tensor": replaced(lambda v: torch.tensor([v]), lambda b: b),
    "another number": replaced(float, lambda b: b),
    "global": Holder(
        lambda model, v: GLOBALS.update(v=v), lambda model: GLOBALS["v"], lambda model, v: GLOBALS.update(v=v)
    ),
    "class": Holder(
        lambda model, v: setattr(Changing, "number", v),
        lambda model: model.number,
        lambda model, v: setattr(Changing, "number", v),
    ),
    "method": Holder(patched, lambda model: model.scale(), patched),
    "attribute of the kernel": Holder(
        lambda model, v: setattr(model.covar_module, "factor", v),
        lambda model: model.covar_module.factor,
        lambda model, v: setattr(model.covar_module, "factor", v),
    ),
    "attribute of the mean": Holder(
        lambda model, v: setattr(model.mean_module, "factor", v),
        lambda model: model.mean_module.factor,
        lambda model, v: setattr(model.mean_module, "factor", v),
    ),
}


def kernel(rng: np.random.Generator) -> Any:
    return ScaleKernel(
        [RBFKernel, RQKernel, partial(MaternKernel, nu=2.5), partial(MaternKernel, nu=1.5)][rng.integers(4)]()
    )


def exact(rng: np.random.Generator, holder: Holder, value: float) -> Any:
    inputs = torch.as_tensor(4 * rng.random((12, 2)))
    outcomes = torch.sin(2 * inputs[:, 0]) + inputs[:, 1]
    model: Any = ChangingExact(inputs, outcomes, gpytorch.likelihoods.GaussianLikelihood())
    model.mean_module, model.covar_module = gpytorch.means.ConstantMean(), kernel(rng)
    model.covar_module.base_kernel.lengthscale = float(rng.uniform(0.5, 1.5))
    model.likelihood.noise = 0.01
    return _holding(model.double(), holder, value)


def sparse(rng: np.random.Generator, holder: Holder, value: float) -> Any:
    torch.manual_seed(int(rng.integers(2**31)))
    model: Any = ChangingSparse(torch.as_tensor(4 * rng.random((6, 2))), kernel(rng), gpytorch.means.ConstantMean())
    model.variational_strategy._variational_distribution.variational_mean.data.normal_()
    model.variational_strategy.variational_params_initialized.fill_(1)
    return _holding(model.double(), holder, value)


def _holding(model: Any, holder: Holder, value: float) -> Any:
    model.__dict__["holder"] = holder
    holder.put(model, value)
    return model
