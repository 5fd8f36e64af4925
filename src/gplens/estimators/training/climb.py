"""A sparse fit by L-BFGS in stages: few inducing points first, then more while they lose much (6.10)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import WIDTH
from gplens.estimators.training.ascent import ALL_STEPS, CONVERGED, ascend, box
from gplens.estimators.training.checkpoint import Checkpoint, State
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Best, Watch
from gplens.estimators.training.regression_prior import limits
from gplens.estimators.training.regression_prior import log_prior as log_regression_prior
from gplens.estimators.training.rows import PLACEMENT, generator_of
from gplens.estimators.training.sites import Bound

ITERATIONS = 100
"""Steps of L-BFGS with one number of inducing points."""
TOLERANCE = 5e-4
"""Nats per row that three steps have to gain."""
WORTH, LOOSE = 0.01, 0.2
"""The losses in nats per row (6.10) above which there are more inducing points, and above which they move."""
CANDIDATES = 5000
"""The most rows among which further inducing points are chosen."""
FEW_POINTS = "the number of inducing points"
"""The entry "held_back" of `training_summary_` if more inducing points would help."""


def log_prior(at: Hyperparameters, structure: Structure) -> Float[Tensor, ""]:
    """The log density of a log-normal prior of all lengthscales around the typical distance, up to a constant."""
    return -(at.log_lengthscale - log(structure.typical)).square().sum() / (2 * WIDTH**2)


@final
@dataclass
class Climb:
    """The stages of a fit to rows X, with the numbers of inducing points `rungs`."""

    bound: Bound
    structure: Structure
    X: Float[Tensor, "n d"]
    rungs: tuple[int, ...]
    seed: int
    quiet: float
    watch: Watch
    tolerance: float = TOLERANCE
    steps: int = 0
    stopped: str = CONVERGED
    slack: float = 0.0
    """The loss by the inducing points at the end, in nats per row (6.10)."""

    def run(
        self,
        start: Hyperparameters,
        place: Callable[[int], Float[Tensor, "m d"]],
        checkpoint: Checkpoint | None,
    ) -> Hyperparameters:
        """Maximise the bound with each number of inducing points: those of `place` first, then additional rows.

        The points move in a last stage, if the largest number of them still loses much.
        """
        at, first = start, 0
        if checkpoint is not None and (state := checkpoint.load()) is not None:
            at, first = self._restored(start, state), state.step
            self.slack = self.bound.slack(at)
        for rung in range(first, len(self.rungs)):
            if rung and self.slack < WORTH:
                return at
            at = self.stage(self._placed(at, self.rungs[rung], place), moving=False)
            if self.stopped not in (CONVERGED, ALL_STEPS):
                return at
            if checkpoint is not None:
                checkpoint.save(State(rung + 1, self._state(at), Best()))
        return self.stage(at, moving=True) if self.slack >= LOOSE else at

    @property
    def held_back(self) -> str | None:
        """What limited the bound: nothing, the number of points, the steps, the budget or Ctrl-C."""
        if self.stopped != CONVERGED:
            return "the number of steps" if self.stopped == ALL_STEPS else self.stopped
        return FEW_POINTS if self.slack >= WORTH else None

    def stage(self, at: Hyperparameters, *, moving: bool) -> Hyperparameters:
        """Maximise the bound; L-BFGS varies inducing points only if they move."""
        n, Z, start = len(self.X), at.Z, at if moving else replace(at, Z=None)
        prior, limited = (log_prior, box) if at.log_noise is None else (log_regression_prior, limits)

        def objective(at: Hyperparameters) -> Float[Tensor, ""]:
            return (self.bound(at if moving else replace(at, Z=Z)) + prior(at, self.structure)) / n

        bounds = limited(start, self.structure, self.quiet)
        ascent = ascend(objective, start, bounds, iterations=ITERATIONS, tolerance=self.tolerance, watch=self.watch)
        at = ascent.best if moving else replace(ascent.best, Z=Z)
        self.steps, self.stopped, self.slack = self.steps + ascent.steps, ascent.stopped, self.bound.slack(at)
        return at

    def _placed(self, at: Hyperparameters, count: int, place: Callable[[int], Tensor]) -> Hyperparameters:
        kernels = len(at.log_outputscale)
        if at.Z is None:
            return replace(at, Z=place(count).expand(kernels, -1, -1).clone())
        new = further_points(at, self.structure, self.X, count - at.Z.shape[-2], self.seed)
        return replace(at, Z=torch.cat([at.Z, new.expand(kernels, -1, -1)], dim=1))

    def _state(self, at: Hyperparameters) -> dict[str, Tensor]:
        steps = torch.tensor([self.steps])
        named = {f"at.{name}": tensor for name, tensor in at.tensors().items()}
        return {**named, **{f"bound.{name}": tensor for name, tensor in self.bound.state().items()}, "steps": steps}

    def _restored(self, start: Hyperparameters, state: State) -> Hyperparameters:
        parts: dict[str, Any] = {"at": {}, "bound": {}, "steps": {}}
        for name, tensor in state.tensors.items():
            part, _, key = name.partition(".")
            parts[part][key] = tensor
        self.steps = int(parts["steps"][""])
        self.bound.restore(parts["bound"])
        return replace(start, **parts["at"])


@torch.no_grad()
def further_points(
    at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"], count: int, seed: int, enough: float = 0.0
) -> Float[Tensor, "m d"]:
    """Rows whose prior variance, given all points before, is the largest: the pivots of a Cholesky factor.

    Fewer than `count`, but not none at all, where the mean of the variances that are left is at most `enough`.
    """
    rows = X[torch.randperm(len(X), generator=generator_of(seed, PLACEMENT))[:CANDIDATES]]
    phi = rows[:, :0] if at.Z is None else (at.covariance(structure, rows, at.Z) @ at.whitening(structure).mT)[0]
    factors = torch.cat([phi, phi.new_zeros(len(rows), count)], dim=1)
    m, chosen = phi.shape[1], []
    left = at.log_outputscale.exp()[0] - phi.square().sum(1)
    for i in range(m, m + min(count, len(rows))):
        pivot = int(left.argmax())
        if i > 0 and (float(left[pivot]) <= structure.jitter or float(left.mean()) <= enough):
            break
        chosen.append(pivot)
        column = at.covariance(structure, rows, rows[None, pivot : pivot + 1])[0, :, 0]
        factors[:, i] = (column - factors[:, :i] @ factors[pivot, :i]) / left[pivot].sqrt()
        left = left - factors[:, i].square()
    return rows[chosen]
