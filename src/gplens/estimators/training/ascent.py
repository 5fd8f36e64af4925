"""L-BFGS for the evidence and the bounds: every evaluation is monitored, and the best one is kept."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.optimize import Bounds, minimize
from torch import Tensor

from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Watch, WatchError

MEMORY = 20
"""Pairs of steps and gradients that L-BFGS keeps."""
FARTHEST = 3.0
"""The value that stands for parameters without a Cholesky factor, in nats per row below the best so far."""
REACH = {"log_lengthscale": 7.0, "log_outputscale": 14.0, "log_alpha": 7.0}
"""How far logarithms may move from their start in either direction: a factor of 1e3, and 1e6 for a variance."""

Objective = Callable[[Hyperparameters], Float[Tensor, ""]]
"""The function that is maximised, in nats per row."""


@final
@dataclass(frozen=True)
class Ascent:
    """Where an ascent ended."""

    best: Hyperparameters
    value: float
    steps: int
    stopped: str


def box(at: Hyperparameters, structure: Structure, quiet: float) -> Bounds:
    """Bounds of the vector: logarithms within REACH of a start at the typical distance and variance one."""
    low, high = [], []
    for name, tensor in at.tensors().items():
        reach = REACH.get(name, np.inf)
        centre = np.log(structure.typical) if name == "log_lengthscale" else 0.0
        low.append(np.full(tensor.numel(), np.log(quiet) if name == "log_noise" else centre - reach))
        high.append(np.full(tensor.numel(), centre + reach))
    return Bounds(np.concatenate(low), np.concatenate(high))  # type: ignore[arg-type]


def ascend(
    objective: Objective,
    start: Hyperparameters,
    bounds: Bounds,
    *,
    iterations: int,
    tolerance: float,
    watch: Watch,
) -> Ascent:
    """Maximise until a step gains less than `tolerance` nats per row, all iterations are done, or the watch says so.

    Deterministic. Parameters at which no Cholesky factor exists count as far below the best.
    """
    best, best_vector, evaluations = -np.inf, start.vector.numpy(), 0

    def loss(vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        nonlocal best, best_vector, evaluations
        watch.check()
        evaluations += 1
        point = torch.from_numpy(np.array(vector)).requires_grad_()
        try:
            value = objective(start.with_vector(point))
            (slope,) = torch.autograd.grad(value, point)
        except torch.linalg.LinAlgError:  # pyright: ignore[reportPrivateImportUsage]
            if evaluations == 1:
                raise
            return FARTHEST - best, np.zeros_like(vector)
        number = float(value.detach())
        if not np.isfinite(number) or not bool(slope.isfinite().all()):
            return FARTHEST - best, np.zeros_like(vector)
        if number > best:
            best, best_vector = number, np.array(vector)
        watch.advance(number)
        return -number, -slope.numpy()

    options: Any = {"maxiter": iterations, "ftol": 0.0, "gtol": 1e-5, "maxcor": MEMORY, "maxls": 12}
    progress = _Progress(tolerance, lambda: best)
    try:
        result: Any = minimize(
            loss, start.vector.numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=progress
        )
        stopped = ALL_STEPS if int(result.status) == 1 and not progress.converged else CONVERGED
    except WatchError as reason:
        stopped = str(reason)
    return Ascent(start.with_vector(torch.from_numpy(best_vector)), best, progress.steps, stopped)


CONVERGED, ALL_STEPS = "the objective no longer grew", "all steps done"
SPAN = 3
"""The number of steps over which the gain is measured: a single short step of L-BFGS says little."""


@final
class _Progress:
    """Ends L-BFGS where the last steps together gained less than the tolerance."""

    def __init__(self, tolerance: float, best: Callable[[], float]) -> None:
        self.tolerance, self.best, self.converged = tolerance, best, False
        self.values: list[float] = []

    @property
    def steps(self) -> int:
        return len(self.values)

    def __call__(self, intermediate_result: Any) -> None:
        self.values.append(self.best())
        if self.steps > SPAN and self.values[-1] - self.values[-1 - SPAN] < self.tolerance:
            self.converged = True
            raise StopIteration
