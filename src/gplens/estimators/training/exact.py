"""Exact training: the marginal likelihood by L-BFGS."""

from time import perf_counter
from typing import Any

import torch
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.likelihoods import log_normal
from gplens.estimators.models import Exact, log_prior

ITERATIONS = 60


def log_evidence(
    model: Exact, likelihood: GaussianLikelihood, X: Float[Tensor, "n d"], y: Float[Tensor, " n"]
) -> Float[Tensor, ""]:
    """log N(y; mu, K + noise I), through a Cholesky factor whatever the size."""
    K = model.covar_module(X).to_dense()
    noise: Any = likelihood.noise
    L = torch.linalg.cholesky(K + noise * torch.eye(len(X), dtype=X.dtype))
    whitened = torch.linalg.solve_triangular(L, (y - torch.as_tensor(model.mean_module(X)))[:, None], upper=False)[:, 0]
    variance = L.diagonal() ** 2
    return log_normal(whitened * variance.sqrt(), variance).sum()


def maximise_evidence(
    model: Exact, likelihood: GaussianLikelihood, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], typical: float
) -> dict[str, Any]:
    """With the prior of the lengthscales; to convergence, or so many iterations. Deterministic."""
    began = perf_counter()
    parameters = list(model.parameters())
    optimizer = torch.optim.LBFGS(parameters, max_iter=ITERATIONS, line_search_fn="strong_wolfe", tolerance_change=1e-7)

    def loss() -> Any:
        optimizer.zero_grad()
        value = -(log_evidence(model, likelihood, X, y) + log_prior(model.covar_module, typical)) / len(y)
        value.backward()
        return value

    optimizer.step(loss)
    with torch.no_grad():
        evidence = float(log_evidence(model, likelihood, X, y)) / len(y)
    steps = optimizer.state[parameters[0]]["n_iter"]
    return {"steps": steps, "log_evidence_per_row": evidence, "seconds": perf_counter() - began}
