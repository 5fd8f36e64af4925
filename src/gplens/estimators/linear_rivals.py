"""Whether a linear model of the same inputs predicts held-out rows better: ridge or logistic regression."""

import warnings
from math import log, pi
from typing import Any

import numpy as np
import torch
from gpytorch.likelihoods import GaussianLikelihood, SoftmaxLikelihood
from jaxtyping import Float, Int
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from torch import Tensor

from gplens.estimators.fitting import Problem
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import INTERRUPTED
from gplens.estimators.training.rows import RIVALS, generator_of
from gplens.estimators.training.sites import Solution, features_at, gaussian_of

FEWEST = 100
"""Tables with fewer rows are not compared, since a fifth of the rows would say too little."""
MOST_HELD, MOST_USED = 1000, 5000
"""The most rows that are held out, and that a linear model is fitted to."""
DRAWS = 128
"""Draws of the latent values of a held-out row."""
CLEAR, MATTERS = 3.0, 0.02
"""A linear model is better if it gains 3 standard errors of the difference, and 0.02 nats per row."""
NAMES = {"gaussian": "ridge regression", "classes": "logistic regression"}


def compare_exact(
    problem: Problem, rows: Float[Tensor, "n d"], at: Hyperparameters, structure: Structure, seed: int
) -> dict[str, Any]:
    """The same for an exact model, whose prediction of the held-out rows H from the others has a closed form:

    with a = S^-1 (y - mu), C = (S^-1)_HH, mean y_H - C^-1 a_H and covariance C^-1  (6.9).
    """
    if (parts := _parts(problem, len(rows), seed)) is None:
        return {}
    held, used = parts
    assert at.log_noise is not None
    assert at.mean is not None
    with torch.no_grad():
        w = torch.ones_like(problem.y) if problem.weights is None else problem.weights
        noise = at.log_noise.exp() / w
        S = at.covariance(structure, rows, rows[None])[0] + torch.diag(noise)
        L = torch.linalg.cholesky(S)
        inverse = torch.cholesky_inverse(L)
        a = inverse @ (problem.y - at.mean)
        C = torch.cholesky_inverse(torch.linalg.cholesky(inverse[held][:, held]))
        m, v = problem.y[held] - C @ a[held], C.diagonal() - noise[held]
    return _verdict(problem, rows, held, used, _density(problem, at, held, m[None], v[None], seed))


def compare_sparse(
    problem: Problem,
    rows: Float[Tensor, "n d"],
    at: Hyperparameters,
    structure: Structure,
    q: Solution,
    seed: int,
    factor: float = 1.0,
) -> dict[str, Any]:
    """Held-out log densities of the model and of its linear rival, for the summary; nothing for few rows.

    The sites of the held-out rows are taken out of q(u)  (6.9); hyperparameters have seen these rows. The mean is
    multiplied by the factor of (6.16), which has seen them too.
    """
    if (parts := _parts(problem, len(rows), seed)) is None:
        return {}
    marginals = held_marginals(problem, rows, at, structure, q, seed)
    assert marginals is not None
    held, m, v = marginals
    return _verdict(problem, rows, held, parts[1], _density(problem, at, held, factor * m, v, seed))


def held_marginals(
    problem: Problem, rows: Float[Tensor, "n d"], at: Hyperparameters, structure: Structure, q: Solution, seed: int
) -> tuple[Int[Tensor, " h"], Float[Tensor, "c h"], Float[Tensor, "c h"]] | None:
    """Held-out rows, with mean and variance of the latent functions there without their sites  (6.9)."""
    if (parts := _parts(problem, len(rows), seed)) is None:
        return None
    held, _ = parts
    with torch.no_grad():
        block, sites = features_at(at, structure, rows[held]), q.sites.of_rows(held)
        P = q.P - (block.phi * sites.w[..., None]).mT @ block.phi
        h = q.h - (block.phi.mT @ (sites.linear - sites.w * block.mu)[..., None])[..., 0]
        m, v = gaussian_of(h, P)[0].marginals(block)
    return held, m, v


def _parts(problem: Problem, n: int, seed: int) -> tuple[Int[Tensor, " h"], Int[Tensor, " u"]] | None:
    """Rows to hold out, and rows that the linear model is fitted to."""
    if n < FEWEST:
        return None
    order = torch.randperm(n, generator=generator_of(seed, RIVALS))
    count = min(MOST_HELD, n // 5)
    held, used = order[:count], order[count : count + MOST_USED]
    if len(problem.y[used].unique()) < 2:
        return None
    return held, used


def _density(
    problem: Problem,
    at: Hyperparameters,
    held: Int[Tensor, " h"],
    m: Float[Tensor, "c h"],
    v: Float[Tensor, "c h"],
    seed: int,
) -> Float[Tensor, " h"]:
    """log p(y|x) of held-out rows: in closed form with Gaussian noise, else by draws."""
    y = problem.y[held]
    if isinstance(problem.likelihood, GaussianLikelihood):
        assert at.log_noise is not None
        total = v[0] + at.log_noise.exp()
        return -((y - m[0]).square() / total + total.log() + log(2 * pi)) / 2
    z = torch.randn(DRAWS, *m.shape, generator=generator_of(seed, RIVALS), dtype=m.dtype)
    f = m + v.sqrt() * z
    if isinstance(problem.likelihood, SoftmaxLikelihood):
        log_p = torch.log_softmax(f, 1).gather(1, y.long().expand(DRAWS, 1, -1))[:, 0]
    else:
        log_p = problem.likelihood(f[:, 0]).log_prob(y)
    return torch.logsumexp(log_p, 0) - log(DRAWS)


def _linear(problem: Problem, X: Any, y: Any, w: Any, new: Any, new_y: Any) -> tuple[str, Any]:
    """The name of the linear model, and its log densities of new rows."""
    if isinstance(problem.likelihood, GaussianLikelihood):
        ridge = RidgeCV(np.logspace(-2, 4, 13)).fit(X, y, sample_weight=w)
        variance = np.average((y - ridge.predict(X)) ** 2, weights=w) + 1e-12
        return NAMES["gaussian"], -((new_y - ridge.predict(new)) ** 2 / variance + np.log(2 * np.pi * variance)) / 2
    model = LogisticRegression(max_iter=200).fit(X, y, sample_weight=w)
    p = np.full((len(new), int(max(y.max(), new_y.max())) + 1), 1e-6)  # a class that only held-out rows have
    p[:, model.classes_.astype(int)] = model.predict_proba(new)
    return NAMES["classes"], np.log(p[np.arange(len(new)), new_y.astype(int)])


def _verdict(
    problem: Problem,
    rows: Float[Tensor, "n d"],
    held: Int[Tensor, " h"],
    used: Int[Tensor, " u"],
    density: Float[Tensor, " h"],
) -> dict[str, Any]:
    w = None if problem.weights is None else problem.weights[used].numpy()
    parts = (rows[used].numpy(), problem.y[used].numpy(), w, rows[held].numpy(), problem.y[held].numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rival that has almost converged serves as well
        name, linear = _linear(problem, *parts)
    shift = log(problem.scale)  # densities in the units of the table
    gain = linear - density.numpy()
    error = float(gain.std() / len(gain) ** 0.5)
    better = float(gain.mean()) > max(CLEAR * error, MATTERS)
    return {
        "held_out_log_density": float(density.mean()) - shift,
        "linear_log_density": float(linear.mean()) - shift,
        "linear_model": name,
        "linear_is_better": better,
    }


def warn_of(summary: dict[str, Any]) -> None:
    """Warn that a fit was interrupted, or that a linear model predicts held-out rows better."""
    if summary["stopped"] == INTERRUPTED:
        message = f"The fit was interrupted after {summary['steps']} steps; the best model is kept."
        warnings.warn(message, stacklevel=4)
    elif summary.get("linear_is_better"):
        ours, linear = summary["held_out_log_density"], summary["linear_log_density"]
        warnings.warn(
            f"A {summary['linear_model']} on the same columns predicts held-out rows better than this model: its log "
            f"density is {linear:.3f} per row, that of this model {ours:.3f}. Try another kernel, other kinds of "
            "columns or a larger budget, or use the linear model.",
            stacklevel=4,
        )
