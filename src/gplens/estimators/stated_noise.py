"""The variance of the noise under which held-out rows of a sparse model are most probable (MATH 6.15)."""

from math import log
from typing import Any

import torch
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from torch import Tensor

from gplens.estimators.fitting import QUIET, Problem
from gplens.estimators.linear_rivals import held_marginals
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.sites import Solution

FARTHEST = log(10)
"""The largest change of the logarithm of the noise variance."""


def calibrated_noise(
    problem: Problem, rows: Float[Tensor, "n d"], at: Hyperparameters, structure: Structure, q: Solution, seed: int
) -> Float[Tensor, ""]:
    """The logarithm of the noise variance; unchanged for tables that are too small to hold out rows.

    The noise that maximises the evidence of a part of the rows may be wrong for the model: too few inducing points add
    variance to predictions, and a fit that the budget ended early is not at a maximum. The held-out rows decide.
    """
    assert at.log_noise is not None
    if (parts := held_marginals(problem, rows, at, structure, q, seed)) is None:
        return at.log_noise
    held, m, v = parts
    w = torch.ones_like(m[0]) if problem.weights is None else problem.weights[held]
    squares = (problem.y[held] - m[0]).square()

    def loss(log_noise: float) -> float:
        total = v[0] + torch.tensor(log_noise, dtype=v.dtype).exp() / w
        return float((w * (squares / total + total.log())).sum())

    near = float(at.log_noise)
    bounds = max(near - FARTHEST, log(QUIET)), near + FARTHEST
    best: Any = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-3})
    return at.log_noise.new_tensor(float(best.x))
