"""Small models of every kind that the what-if evaluates, as the page has them and as Python has them."""

from typing import Any

import torch
from torch import Tensor

import gplens
from gplens import kernels, links
from gplens.adapters.reading import Reading, read
from gplens.likelihood import Likelihood
from gplens.page.control_specs import control_specs
from gplens.page.model_specs import live_model
from gplens.targets import Response, bind_target

D = 4


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


L = tensor(0.8, 1.4, 2.0, 1.1)
KERNELS: dict[str, Any] = {
    "rbf": kernels.RBF(L),
    "matern 3/2": kernels.Matern32(L),
    "matern 5/2": kernels.Matern52(L),
    "rational quadratic": kernels.RationalQuadratic(L, torch.tensor(1.3, dtype=torch.float64)),
    "linear": kernels.Sum((kernels.Linear(tensor(0.3, 0.2, 0.5, 0.1)), kernels.Constant(torch.tensor(0.4).double()))),
    "polynomial": kernels.Polynomial(0.2 * L, torch.tensor(0.7, dtype=torch.float64), 2),
    "periodic": kernels.Periodic(tensor(1.2, 0.9, 2.0, 1.5), tensor(3.0, 4.0, 5.0, 3.5)),
    "radial periodic": kernels.ActiveDimensions(
        kernels.RadialPeriodic(tensor(4.0), torch.tensor(1.1, dtype=torch.float64)), torch.tensor([1])
    ),
    "sum of products": kernels.Sum(
        (
            kernels.Product(
                (kernels.RBF(L), kernels.ActiveDimensions(kernels.Matern52(tensor(0.9, 1.3)), torch.tensor([2, 0])))
            ),
            kernels.Scale(kernels.Linear(tensor(0.2)), torch.tensor(0.6, dtype=torch.float64)),
        )
    ),
}
LINKS: dict[str, Any] = {
    "identity": links.Identity(),
    "exp": links.Exp(),
    "probit": links.Probit(0.2, 1.3),
    "sigmoid": links.Sigmoid(),
    "softplus": links.Softplus(),
    "affine": links.Affine(links.Sigmoid(), 3.0, -1.0),
}


def posterior(kernel: Any, *, seed: int = 0, n: int = 25, noise: float = 0.1) -> gplens.Posterior:
    """An exact posterior of a smooth function of four features."""
    g = torch.Generator().manual_seed(seed)
    X = torch.randn(n, D, generator=g, dtype=torch.float64)
    y = torch.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] - 0.3 * X[:, 3] + 0.2 * seed
    return gplens.Posterior.exact(kernel, X, y, noise=noise)


def spec_of(model: Any, likelihood: Any = None) -> dict[str, Any]:
    """The model of the page for plain columns."""
    reading: Reading = read(model, likelihood)
    observed = reading.likelihood
    assert isinstance(observed, Likelihood)
    process, response = bind_target(Response(), observed, reading.process, None, reading.model)
    names = tuple(f"x{k}" for k in range(process.features))
    table = torch.randn(50, process.features, dtype=torch.float64).numpy()
    return {**live_model(process, response, observed), "columns": control_specs(None, names, table)}
