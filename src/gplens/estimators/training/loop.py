"""Sparse variational training: one loop for every likelihood, both optimisers and a resumed fit."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, final

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.likelihoods import expected_log_prob
from gplens.estimators.models import Sparse, log_prior
from gplens.estimators.training.batches import LOOKS, Batches, generator_of
from gplens.estimators.training.bound import Gaussian, features
from gplens.estimators.training.checkpoint import Checkpoint, State
from gplens.estimators.training.options import Adam, NaturalGradients, Training
from gplens.estimators.training.posterior import Factored, Natural, Trained
from gplens.estimators.training.progress import Progress
from gplens.estimators.training.start import Sites, least_squares
from gplens.estimators.training.stopping import Best, Interrupt

BLOCK = 2000
"""Rows that a look at the bound takes at once."""


@final
@dataclass(frozen=True)
class Data:
    """Rows to train on, and rows to watch."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    held: Float[Tensor, "h d"]
    held_y: Float[Tensor, " h"]


@final
class Loop:
    """The state of a fit. `run` climbs until the steps are done, the bound rests, or somebody asks it to stop."""

    def __init__(
        self,
        model: Sparse,
        likelihood: Likelihood,
        data: Data,
        training: Training,
        optimizer: Adam | NaturalGradients,
        typical: float,
    ) -> None:
        self.model, self.likelihood, self.data = model, likelihood, data
        self.training, self.optimizer, self.typical = training, optimizer, typical
        self.best = Best()
        model.strategy.inducing_points.requires_grad_(training.learn_inducing)
        model.covar_module.requires_grad_(training.learn_kernel)
        model.q.requires_grad_(isinstance(optimizer, Adam))

    def start(self, sites: Sites) -> None:
        """q(u) from least squares, and a fresh Adam."""
        h, P = least_squares(self.model, self.data.X, sites)
        natural = isinstance(self.optimizer, NaturalGradients)
        self.q: Trained = Natural(h, P) if natural else Factored(self.model, h, P)
        self.learnt = [p for p in (*self.model.parameters(), *self.likelihood.parameters()) if p.requires_grad]
        rate = self.optimizer.adam_rate if isinstance(self.optimizer, NaturalGradients) else self.optimizer.rate
        self.adam = torch.optim.Adam(self.learnt, lr=rate) if self.learnt else None

    def run(self, seed: int, checkpoint: Checkpoint | None, show: bool) -> dict[str, Any]:
        """The best model is in `model` and `likelihood` afterwards; returns a summary of how it went."""
        began, training, first = perf_counter(), self.training, self._resume(checkpoint)
        batches, step, why = Batches(len(self.data.X), training.batch, seed), first, "all steps done"
        with Interrupt() as interrupt, Progress(training.steps, first, show) as progress:
            for step in range(first, training.steps):
                progress.advance(self._step(step, batches, seed))
                if not self._look(step + 1, seed):
                    why = "the bound no longer grew"
                    break
                if interrupt.asked:
                    why = "interrupted"
                    break
                if checkpoint is not None and (step + 1) % training.checkpoint_every == 0:
                    checkpoint.save(State(step + 1, self._tensors(), self.best))
        self._keep_best(seed, step + 1)
        if checkpoint is not None and why != "interrupted":
            checkpoint.remove()
        if why == "interrupted":
            warnings.warn(f"The fit was interrupted after {step + 1} of {training.steps} steps.", stacklevel=4)
        summary = {"steps": step + 1, "best_step": self.best.step, "stopped": why, "elbo_per_row": self.best.value}
        return {**summary, "held_out_rows": len(self.data.held), "seconds": perf_counter() - began}

    def _step(self, step: int, batches: Batches, seed: int) -> float:
        """One batch: partials by m and v for q(u), and through them the gradient of everything else."""
        rows, done = batches[step], self.training.schedule.factor(step / self.training.steps)
        q, n = self.q.gaussian(), len(self.data.X)
        found = features(self.model, self.data.X[rows])
        m, v = q.marginals(found)
        if not m.requires_grad:  # nothing but q(u) is learnt
            m, v = m.requires_grad_(), v.requires_grad_()
        generator = generator_of(seed, step)
        value = expected_log_prob(self.likelihood, self.data.y[rows], m, v, generator).sum()
        partials = torch.autograd.grad(value, (m, v), retain_graph=True)
        bound = value / len(rows) - q.divergence() / n
        self._check(bound, step)
        if self.adam is not None:
            self._adam_step(bound, done)
        rate = done * self.optimizer.rate
        self.q.step(found, m, (partials[0], partials[1]), rate, n / len(rows))
        return float(bound.detach())

    def _adam_step(self, bound: Float[Tensor, ""], done: float) -> None:
        assert self.adam is not None
        self.adam.zero_grad()
        prior = log_prior(self.model.covar_module, self.typical) / len(self.data.X)
        (-bound - prior).backward()
        for group in self.adam.param_groups:
            group["lr"] = done * self.adam.defaults["lr"]
        self.adam.step()

    def _check(self, bound: Float[Tensor, ""], step: int) -> None:
        if not bool(bound.isfinite()):
            raise ArithmeticError(
                f"The ELBO became {float(bound)} in step {step}. Train with a smaller rate, such as "
                "Training(optimizer=Adam(rate=0.003)), or without single=True."
            )

    def _look(self, step: int, seed: int) -> bool:
        """Every so often, at the bound of the rows that are watched; whether to go on."""
        stopping = self.training.stopping
        if stopping is None or step % stopping.every:
            return True
        return self.best.offer(self.bound(seed), step, self._tensors(), stopping)

    @torch.no_grad()
    def bound(self, seed: int) -> float:
        """The ELBO per row of the held-out rows, or of all rows where none are held out."""
        watched = len(self.data.held) > 0
        X, y = (self.data.held, self.data.held_y) if watched else (self.data.X, self.data.y)
        q, generator = self.q.gaussian(), generator_of(seed, LOOKS)
        total = torch.zeros((), dtype=torch.float64)
        for rows in torch.arange(len(X)).split(BLOCK):
            total += self._expected(q, X[rows], y[rows], generator).double().sum()
        return float(total / len(X) - q.divergence() / len(self.data.X))

    def _expected(self, q: Gaussian, X: Tensor, y: Tensor, generator: torch.Generator) -> Float[Tensor, " b"]:
        m, v = q.marginals(features(self.model, X))
        return expected_log_prob(self.likelihood, y, m, v, generator)

    def _keep_best(self, seed: int, step: int) -> None:
        """The end of the fit is one more look."""
        last = self.bound(seed)
        if last >= self.best.value or not self.best.tensors:
            self.best = Best(last, step)
        else:
            self._restore(self.best.tensors)
        self.q.write(self.model)

    def _tensors(self) -> dict[str, Tensor]:
        """Parameters, q(u) and the optimiser's moments, by name."""
        named = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        named |= {f"likelihood.{name}": tensor for name, tensor in self.likelihood.state_dict().items()}
        named |= {f"q.{name}": tensor for name, tensor in self.q.tensors().items()}
        return named | _moments(self.adam)

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        part = _parts(tensors, ("model", "likelihood", "q", "adam"))
        self.model.load_state_dict(part["model"])
        self.likelihood.load_state_dict(part["likelihood"])
        if isinstance(self.q, Natural):
            self.q = Natural(part["q"]["h"], part["q"]["P"])
        for name, tensor in part["adam"].items():
            assert self.adam is not None
            i, moment = name.split(".")
            self.adam.state[self.learnt[int(i)]][moment] = tensor.clone()

    def _resume(self, checkpoint: Checkpoint | None) -> int:
        """The step to begin with."""
        state = None if checkpoint is None else checkpoint.load()
        if state is None:
            return 0
        self._restore(state.tensors)
        self.best = state.best
        return state.step


def _moments(adam: torch.optim.Adam | None) -> dict[str, Tensor]:
    """Adam's state, as numbered tensors."""
    state = {} if adam is None else adam.state_dict()["state"]
    return {f"adam.{i}.{name}": tensor for i, own in state.items() for name, tensor in own.items()}


def _parts(tensors: dict[str, Tensor], names: Sequence[str]) -> dict[str, dict[str, Tensor]]:
    split = {name: {} for name in names}
    for key, tensor in tensors.items():
        part, _, name = key.partition(".")
        split[part][name] = tensor
    return split
