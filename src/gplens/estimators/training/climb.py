"""A sparse fit by L-BFGS in stages: few inducing points first, then more of them for as long as the bound gains."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import log
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import WIDTH
from gplens.estimators.training.ascent import CONVERGED, Ascent, ascend, box
from gplens.estimators.training.checkpoint import Checkpoint, State
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure
from gplens.estimators.training.monitor import Best, Watch
from gplens.estimators.training.rows import PLACEMENT, generator_of
from gplens.estimators.training.sites import Bound

ITERATIONS = 100
"""Steps of L-BFGS with one number of inducing points."""
TOLERANCE = 5e-4
"""Nats per row that three steps have to gain."""
WORTH = 0.01
"""Nats per row that twice as many inducing points have to gain for their number to be doubled again."""
CANDIDATES = 2000
"""The most rows among which further inducing points are chosen."""
FEW_POINTS = "the number of inducing points"
"""The entry "held_back" of `training_summary_` where twice as many still gained."""


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
    values: list[float] = field(default_factory=list)
    steps: int = 0
    stopped: str = CONVERGED

    def run(
        self,
        start: Hyperparameters,
        place: Callable[[int], Float[Tensor, "m d"]],
        checkpoint: Checkpoint | None,
    ) -> Hyperparameters:
        """Maximise the bound with each number of points, which start at `place` and, when they become more, beside."""
        at, first = start, 0
        if checkpoint is not None and (state := checkpoint.load()) is not None:
            at, first = self._restored(start, state), state.step
        for rung in range(first, len(self.rungs)):
            if len(self.values) > 1 and self.values[-1] - self.values[-2] < WORTH:
                break
            ascent = self._stage(self._placed(at, self.rungs[rung], place))
            at, self.steps, self.stopped = ascent.best, self.steps + ascent.steps, ascent.stopped
            self.values.append(ascent.value)
            if ascent.stopped not in (CONVERGED, "all steps done"):
                break
            if checkpoint is not None:
                checkpoint.save(State(rung + 1, self._state(at), Best(ascent.value)))
        return at

    @property
    def held_back(self) -> str | None:
        """What kept the bound from growing further: nothing, the number of points, the steps, the budget or Ctrl-C."""
        if self.stopped != CONVERGED:
            return "the number of steps" if self.stopped == "all steps done" else self.stopped
        gains = [after - before for before, after in zip(self.values, self.values[1:], strict=False)]
        return FEW_POINTS if gains and gains[-1] >= WORTH else None

    def _stage(self, at: Hyperparameters) -> Ascent:
        n, bounds = len(self.X), box(at, self.structure, self.quiet)

        def objective(at: Hyperparameters) -> Float[Tensor, ""]:
            return (self.bound(at) + log_prior(at, self.structure)) / n

        return ascend(objective, at, bounds, iterations=ITERATIONS, tolerance=TOLERANCE, watch=self.watch)

    def _placed(self, at: Hyperparameters, count: int, place: Callable[[int], Tensor]) -> Hyperparameters:
        kernels = len(at.log_outputscale)
        if at.Z is None:
            return replace(at, Z=place(count).expand(kernels, -1, -1).clone())
        new = further_points(at, self.structure, self.X, count - at.Z.shape[-2], self.seed)
        return replace(at, Z=torch.cat([at.Z, new.expand(kernels, -1, -1)], dim=1))

    def _state(self, at: Hyperparameters) -> dict[str, Tensor]:
        values = torch.tensor([*self.values, float(self.steps)], dtype=torch.float64)
        named = {f"at.{name}": tensor for name, tensor in at.tensors().items()}
        return {**named, **{f"bound.{name}": tensor for name, tensor in self.bound.state().items()}, "values": values}

    def _restored(self, start: Hyperparameters, state: State) -> Hyperparameters:
        parts: dict[str, Any] = {"at": {}, "bound": {}, "values": {}}
        for name, tensor in state.tensors.items():
            part, _, key = name.partition(".")
            parts[part][key] = tensor
        *self.values, steps = parts["values"][""].tolist()
        self.steps = int(steps)
        self.bound.restore(parts["bound"])
        return replace(start, **parts["at"])


@torch.no_grad()
def further_points(
    at: Hyperparameters, structure: Structure, X: Float[Tensor, "n d"], count: int, seed: int
) -> Float[Tensor, "m d"]:
    """Rows whose prior variance, given all points before, is the largest: the pivots of a Cholesky factor."""
    assert at.Z is not None
    rows = X[torch.randperm(len(X), generator=generator_of(seed, PLACEMENT))[:CANDIDATES]]
    phi = (at.covariance(structure, rows, at.Z) @ at.whitening(structure).mT)[0]
    factors = torch.cat([phi, phi.new_zeros(len(rows), count)], dim=1)
    m, chosen = phi.shape[1], []
    left = at.log_outputscale.exp()[0] - phi.square().sum(1)
    for i in range(m, m + min(count, len(rows))):
        pivot = int(left.argmax())
        if float(left[pivot]) <= structure.jitter:
            break
        chosen.append(pivot)
        column = at.covariance(structure, rows, rows[None, pivot : pivot + 1])[0, :, 0]
        factors[:, i] = (column - factors[:, :i] @ factors[pivot, :i]) / left[pivot].sqrt()
        left = left - factors[:, i].square()
    return rows[chosen]
