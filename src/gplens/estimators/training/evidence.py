"""Fitting an exact model: its log marginal likelihood maximised by L-BFGS."""

from math import pi
from time import perf_counter
from typing import Any

import torch
from gpytorch.likelihoods import GaussianLikelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import Exact, log_prior
from gplens.estimators.likelihoods import log_normal
from gplens.estimators.training.monitor import INTERRUPTED, Interrupt
from gplens.estimators.weights import Weights

ITERATIONS = 60


def log_evidence(
    model: Exact,
    likelihood: GaussianLikelihood,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    weights: Weights = None,
) -> Float[Tensor, ""]:
    """log N(y; mu, K + noise I), through a Cholesky factor for any number of rows.

    A row that counts w times has the density N(y; f, noise)^w, which is N(y; f, noise/w) times
    (2 pi noise)^((1-w)/2) w^(-1/2).
    """
    K = model.covar_module(X).to_dense()
    noise: Any = likelihood.noise
    eye = torch.eye(len(X), dtype=X.dtype)
    L = torch.linalg.cholesky(K + (noise * eye if weights is None else noise * torch.diag(1 / weights)))
    whitened = torch.linalg.solve_triangular(L, (y - torch.as_tensor(model.mean_module(X)))[:, None], upper=False)[:, 0]
    variance = L.diagonal() ** 2
    evidence = log_normal(whitened * variance.sqrt(), variance).sum()
    if weights is None:
        return evidence
    return evidence - ((weights - 1).sum() * (2 * pi * noise).log().squeeze() + weights.log().sum()) / 2


class _InterruptError(Exception):
    """Raised by the objective to leave L-BFGS after Ctrl-C."""


def maximise_evidence(
    model: Exact,
    likelihood: GaussianLikelihood,
    X: Float[Tensor, "n d"],
    y: Float[Tensor, " n"],
    typical: float,
    weights: Weights = None,
) -> dict[str, Any]:
    """Maximise evidence times lengthscale prior until convergence, or for 60 iterations. Deterministic.

    Ctrl-C ends the fit after the current evaluation, with the best parameters so far. Returns a summary.
    """
    began = perf_counter()
    parameters = list(model.parameters())
    optimizer = torch.optim.LBFGS(parameters, max_iter=ITERATIONS, line_search_fn="strong_wolfe", tolerance_change=1e-7)
    best, best_parameters = float("inf"), [p.detach().clone() for p in parameters]

    with Interrupt() as interrupt:

        def loss() -> Any:
            nonlocal best, best_parameters
            if interrupt.asked:
                raise _InterruptError
            optimizer.zero_grad()
            value = -(log_evidence(model, likelihood, X, y, weights) + log_prior(model.covar_module, typical)) / len(y)
            value.backward()
            if float(value.detach()) < best:
                best, best_parameters = float(value.detach()), [p.detach().clone() for p in parameters]
            return value

        try:
            optimizer.step(loss)
            stopped = "the evidence no longer grew"
        except _InterruptError:
            stopped = INTERRUPTED
            for parameter, value in zip(parameters, best_parameters, strict=True):
                parameter.data = value
    with torch.no_grad():
        evidence = float(log_evidence(model, likelihood, X, y, weights)) / len(y)
    steps = optimizer.state[parameters[0]]["n_iter"]
    if steps == ITERATIONS and stopped != INTERRUPTED:
        stopped = "all steps done"
    summary = {"steps": steps, "stopped": stopped, "log_evidence_per_row": evidence}
    return {**summary, "seconds": perf_counter() - began}
