"""What gplens says of the example, asked through its public functions alone.

A rule with one node in the middle of a short path makes an attribution a derivative: with d = 2h and the node at x,
IG_k = 2h d_k T(x).
"""

from collections.abc import Callable

import gpytorch
import numpy as np
import torch
from paper_example import LENGTH, THETA, X0, C, N, X, Y, Z
from paper_symbols import latents, variational
from torch import Tensor

import gplens
from gplens.kernels import RBF, Scale
from gplens.links import Link
from gplens.rules import GaussLegendre
from gplens.targets import Latent, Target

HALF = 2.0**-6
"""Half of the short path; a power of two, so that its middle is x without rounding."""


def double(values: np.ndarray | float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def posterior(j: int = 0, unit: float = 1.0) -> gplens.Posterior:
    """Exact regression of latent function j, with features measured in units that are `unit` times smaller."""
    kernel, inputs = Scale(RBF(double([LENGTH * unit])), double(THETA)), double(Z * unit)
    A = torch.linalg.inv(kernel(inputs, inputs) + torch.diag(double(N[j])))
    return gplens.Posterior(kernel, inputs, A @ double(Y[j]), (A + A.T) / 2)


def classes() -> gplens.Stack:
    """All the latent functions."""
    return gplens.Stack(tuple(posterior(j) for j in range(C)))


def moving(j: int) -> gplens.Functions:
    """Only latent function j depends on x: its m, v and their gradients at X are those of the example."""
    q = latents()
    m, v, step = double(q.m), double(q.v), torch.eye(C, dtype=torch.float64)[j]

    def mean(x: Tensor) -> Tensor:
        return m + ((x - double(X)) @ double(q.m_k[j]))[:, None] * step

    def variance(x: Tensor) -> Tensor:
        return v + 2 * ((x - double(X)) @ double(q.c_k[j]))[:, None] * step

    return gplens.Functions(mean, variance, features=2, outputs=C)


def certain(function: Callable[[Tensor], Tensor], features: int, outputs: int = 1) -> gplens.Functions:
    """A function that is known: variance zero."""
    return gplens.Functions(function, lambda x: torch.zeros_like(function(x)), features=features, outputs=outputs)


def sparse() -> gpytorch.models.ApproximateGP:
    """The example as a GPyTorch model with q(f_U) = N(a, S), not whitened, which gplens reads."""
    _, a, S = variational()

    class Sparse(gpytorch.models.ApproximateGP):
        def __init__(self) -> None:
            q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            strategy = gpytorch.variational.UnwhitenedVariationalStrategy(
                self, double(Z), q, learn_inducing_locations=False, jitter_val=1e-14
            )
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Sparse().double()
    model.covar_module.initialize(outputscale=double(THETA))
    model.covar_module.base_kernel.initialize(lengthscale=double(LENGTH))
    q = model.variational_strategy._variational_distribution
    q.variational_mean.data = double(a)
    q.chol_variational_covar.data = torch.linalg.cholesky(double(S))
    model.variational_strategy.variational_params_initialized.fill_(1)
    return model.eval()


def derivative(
    model: object, link: Link | None = None, *, target: Target | None = None, x: np.ndarray = X
) -> np.ndarray:
    """d_k T(x): (d,), or (c, d) for several outputs."""
    at, step = double(x), torch.full((len(x),), HALF, dtype=torch.float64)
    e = gplens.explain(
        model, (at + step)[None], baseline=at - step, likelihood=link, target=target, rule=GaussLegendre(1)
    )
    return (e.values[0] / (2 * HALF)).numpy()


def value(model: object, link: Link | None = None, *, target: Target | None = None, x: np.ndarray = X) -> np.ndarray:
    """T(x), as explain predicts it."""
    e = gplens.explain(model, double(x)[None], baseline=double(x), likelihood=link, target=target)
    return e.prediction[0].numpy()


def attributions(model: object, link: Link, *, x: np.ndarray = X, x0: np.ndarray = X0) -> np.ndarray:
    """IG_k from x0 to x."""
    return (
        gplens.explain(model, double(x)[None], baseline=double(x0), likelihood=link, tolerance=1e-11).values[0].numpy()
    )


def attribution_variances() -> np.ndarray:
    """Var IG_k of the latent function from X0 to X."""
    e = gplens.explain(
        posterior(), double(X)[None], baseline=double(X0), target=Latent(), uncertainty=gplens.Full(), tolerance=1e-11
    )
    assert e.covariance is not None
    return e.covariance[0].diagonal().numpy()


def central(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, step: float = 1e-2) -> np.ndarray:
    """d_k of a function of a vector by central differences of sixth order, the last axis being k."""
    weights = {1: 45 / 60, 2: -9 / 60, 3: 1 / 60}
    return np.stack(
        [
            sum(w * (function(x + n * h) - function(x - n * h)) for n, w in weights.items()) / step
            for h in step * np.eye(len(x))
        ],
        axis=-1,
    )
