"""Models of BoTorch with categories and tasks, inputs whose paths change them, and (10.1) term by term."""

import warnings
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import torch
from botorch.models import MixedSingleTaskGP, MultiTaskGP
from torch import Tensor

Function = Callable[[np.ndarray], np.ndarray]
STEP = 1e-5
"""Of central differences."""


def scattered(numbers: int, levels: list[int], count: int, seed: int) -> Tensor:
    g = torch.Generator().manual_seed(seed)
    columns = [torch.randint(size, (count, 1), generator=g) for size in levels]
    return torch.cat([torch.rand(count, numbers, generator=g, dtype=torch.float64), *columns], dim=1).double()


@cache
def mixed() -> MixedSingleTaskGP:
    """Two numbers and two categories, with the lengthscales that BoTorch starts from."""
    X = scattered(2, [3, 4], 30, 0)
    Y = torch.sin(3 * X[:, :1]) + X[:, 2:3] * X[:, 1:2] + (X[:, 3:] == 2)
    return MixedSingleTaskGP(X, Y, cat_dims=[2, 3]).eval()


@cache
def tasks() -> MultiTaskGP:
    torch.manual_seed(0)  # the correlations of tasks start at random
    X = scattered(2, [3], 30, 1)
    Y = torch.sin(4 * X[:, :1]) + X[:, 1:2] * (1 + X[:, 2:])
    return MultiTaskGP(X, Y, task_feature=2).eval()


@cache
def categorical() -> MixedSingleTaskGP:
    X = scattered(0, [3, 4, 2, 3], 40, 2)
    Y = (X[:, :1] == 1) * 2.0 + (X[:, 1:2] == X[:, 3:]) * 1.5 - X[:, 2:3] * X[:, :1]
    return MixedSingleTaskGP(X, Y.double(), cat_dims=[0, 1, 2, 3]).eval()


X_MIXED = np.array([[0.9, 0.2, 1.0, 2.0], [0.1, 0.7, 0.0, 3.0], [0.5, 0.5, 2.0, 0.0]])
X_TASKS = np.array([[0.9, 0.2, 1.0], [0.1, 0.7, 2.0], [0.4, 0.6, 0.0]])


def mean_of(model: Any) -> Function:
    def mean(x: np.ndarray) -> np.ndarray:
        with torch.no_grad(), warnings.catch_warnings(action="ignore"):
            return model.posterior(torch.as_tensor(x)).mean[..., 0].numpy()

    return mean


def switched(
    x0: np.ndarray, x: np.ndarray, categories: list[int], S: tuple[bool, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Begin and end of the line on which the categories S are switched."""
    begin, end = x0.copy(), x.copy()
    for column, inside in zip(categories, S, strict=True):
        begin[column] = end[column] = x[column] if inside else x0[column]
    return begin, end


def by_definition(T: Function, x0: np.ndarray, x: np.ndarray, categories: list[int]) -> np.ndarray:
    """(10.1) and (10.2), term by term, with central differences and 40 nodes of Gauss and Legendre."""
    changed = [j for j in categories if x0[j] != x[j]]
    nodes, weights = np.polynomial.legendre.leggauss(40)
    t, w, total = (nodes + 1) / 2, weights / 2, np.zeros(len(x))
    for S in product([False, True], repeat=len(changed)):
        begin, end = switched(x0, x, changed, S)
        at, s, c = begin + t[:, None] * (end - begin), sum(S), len(S)
        for k in np.flatnonzero(end != begin):
            step = np.eye(len(x))[k] * STEP
            slopes = (T(at + step) - T(at - step)) / (2 * STEP)
            total[k] += (x - x0)[k] * (w * t**s * (1 - t) ** (c - s) * slopes).sum()
        values = T(at)
        for j, inside in zip(changed, S, strict=True):
            others = s - inside
            total[j] += (1 if inside else -1) * (w * t**others * (1 - t) ** (c - 1 - others) * values).sum()
    return total
