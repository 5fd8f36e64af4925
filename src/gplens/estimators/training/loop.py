"""Fitting a sparse model: one loop for every likelihood, both optimisers and resumed fits."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any, final

import torch
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor

from gplens.estimators.gp_models import Sparse, log_prior
from gplens.estimators.training.bound import features
from gplens.estimators.training.checkpoint import Checkpoint, State, adam_moments, joined, parted
from gplens.estimators.training.expected import expected_log_prob
from gplens.estimators.training.monitor import INTERRUPTED, SPENT, Best, Interrupt, StepBar
from gplens.estimators.training.options import Adam, NaturalGradients, Training
from gplens.estimators.training.q_of_u import Factored, Natural, Sites, VariationalPosterior, least_squares
from gplens.estimators.training.rows import LOOKS, Batches, generator_of
from gplens.estimators.weights import Weights

BLOCK = 2000
"""Rows that an evaluation of the bound takes at once."""


@final
@dataclass(frozen=True)
class Data:
    """Rows to train on, and rows that are held out to watch the bound on."""

    X: Float[Tensor, "n d"]
    y: Float[Tensor, " n"]
    held: Float[Tensor, "h d"]
    held_y: Float[Tensor, " h"]
    weights: Weights = None
    """How often each row to train on counts; None if each counts once."""
    held_weights: Float[Tensor, " h"] | None = None


@final
class Loop:
    """The state of a fit. `run` ends when all steps are done, the bound stops growing, or Ctrl-C is pressed."""

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
        """Set q(u) by least squares, and make a new Adam."""
        h, P = least_squares(self.model, self.data.X, sites)
        natural = isinstance(self.optimizer, NaturalGradients)
        self.q: VariationalPosterior = Natural(h, P) if natural else Factored(self.model, h, P)
        self.learnt = [p for p in (*self.model.parameters(), *self.likelihood.parameters()) if p.requires_grad]
        rate = self.optimizer.adam_rate if isinstance(self.optimizer, NaturalGradients) else self.optimizer.rate
        self.adam = torch.optim.Adam(self.learnt, lr=rate) if self.learnt else None

    def run(
        self, seed: int, checkpoint: Checkpoint | None, show: bool, deadline: float | None = None
    ) -> dict[str, Any]:
        """Train, leave the best model in `model` and `likelihood`, and return a summary."""
        began, training, first = perf_counter(), self.training, self._resume(checkpoint)
        batches, step, stopped = Batches(len(self.data.X), training.batch, seed), first, "all steps done"
        with Interrupt() as interrupt, StepBar(training.steps, first, show) as bar:
            for step in range(first, training.steps):
                bar.advance(self._step(step, batches, seed))
                if not self._look(step + 1, seed):
                    stopped = "the bound no longer grew"
                    break
                if interrupt.asked:
                    stopped = INTERRUPTED
                    break
                if deadline is not None and perf_counter() > deadline:
                    stopped = SPENT
                    break
                if checkpoint is not None and (step + 1) % training.checkpoint_every == 0:
                    checkpoint.save(State(step + 1, self._tensors(), self.best))
        self._keep_best(seed, step + 1)
        if checkpoint is not None and stopped != INTERRUPTED:
            checkpoint.remove()
        summary = {"steps": step + 1, "best_step": self.best.step, "stopped": stopped, "elbo_per_row": self.best.value}
        return {**summary, "held_out_rows": len(self.data.held), "seconds": perf_counter() - began}

    def _step(self, step: int, batches: Batches, seed: int) -> float:
        """One batch: partials with respect to m and v for q(u), and through them the gradient of everything else."""
        rows, decay = batches[step], self.training.schedule.factor(step / self.training.steps)
        q, n = self.q.gaussian(), len(self.data.X)
        batch = features(self.model, self.data.X[rows])
        m, v = q.marginals(batch)
        if not m.requires_grad:  # nothing but q(u) is learnt
            m, v = m.requires_grad_(), v.requires_grad_()
        generator = generator_of(seed, step)
        every_row = expected_log_prob(self.likelihood, self.data.y[rows], m, v, generator)
        value = (every_row if self.data.weights is None else every_row * self.data.weights[rows]).sum()
        by_m, by_v = torch.autograd.grad(value, (m, v), retain_graph=True)
        bound = value / len(rows) - q.divergence() / n
        if not bool(bound.isfinite()):
            raise ArithmeticError(
                f"expected a finite ELBO, got {float(bound)} in step {step}. Train with a smaller rate, such as "
                "Training(optimizer=Adam(rate=0.003)), or without single=True."
            )
        if self.adam is not None:
            self._adam_step(self.adam, bound, decay)
        self.q.step(batch, m, (by_m, by_v), decay * self.optimizer.rate, n / len(rows))
        return float(bound.detach())

    def _adam_step(self, adam: torch.optim.Adam, bound: Float[Tensor, ""], decay: float) -> None:
        adam.zero_grad()
        prior = log_prior(self.model.covar_module, self.typical) / len(self.data.X)
        (-bound - prior).backward()
        for group in adam.param_groups:
            group["lr"] = decay * adam.defaults["lr"]
        adam.step()

    def _look(self, step: int, seed: int) -> bool:
        """Evaluate the bound every so many steps; return whether training should go on."""
        stopping = self.training.stopping
        if stopping is None or step % stopping.every:
            return True
        return self.best.offer(self.bound(seed), step, self._tensors(), stopping)

    @torch.no_grad()
    def bound(self, seed: int) -> float:
        """The ELBO per row on the held-out rows, or on all rows where none are held out."""
        held_out = len(self.data.held) > 0
        data = self.data
        X, y, w = (data.held, data.held_y, data.held_weights) if held_out else (data.X, data.y, data.weights)
        q, generator = self.q.gaussian(), generator_of(seed, LOOKS)
        total = torch.zeros((), dtype=torch.float64)
        for rows in torch.arange(len(X)).split(BLOCK):
            m, v = q.marginals(features(self.model, X[rows]))
            every_row = expected_log_prob(self.likelihood, y[rows], m, v, generator).double()
            total += (every_row if w is None else every_row * w[rows]).sum()
        return float(total / len(X) - q.divergence() / len(self.data.X))

    def _keep_best(self, seed: int, step: int) -> None:
        """Compare the last model with the best so far, and write the better one into the GPyTorch model."""
        last = self.bound(seed)
        if last >= self.best.value or not self.best.tensors:
            self.best = Best(last, step)
        else:
            self._restore(self.best.tensors)
        self.q.write(self.model)

    def _tensors(self) -> dict[str, Tensor]:
        """Parameters, q(u) and the moments of Adam, by name."""
        model, likelihood = self.model.state_dict(), self.likelihood.state_dict()
        parts = {"model": dict(model), "likelihood": dict(likelihood), "q": self.q.tensors()}
        return joined({**parts, "adam": adam_moments(self.adam)})

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        part = parted(tensors, ("model", "likelihood", "q", "adam"))
        self.model.load_state_dict(part["model"])
        self.likelihood.load_state_dict(part["likelihood"])
        if isinstance(self.q, Natural):
            self.q = Natural(part["q"]["h"], part["q"]["P"])
        for name, tensor in part["adam"].items():
            assert self.adam is not None
            i, moment = name.split(".")
            self.adam.state[self.learnt[int(i)]][moment] = tensor.clone()

    def _resume(self, checkpoint: Checkpoint | None) -> int:
        """Restore the state of a checkpoint, if there is one; return the first step to do."""
        state = None if checkpoint is None else checkpoint.load()
        if state is None:
            return 0
        self._restore(state.tensors)
        self.best = state.best
        return state.step
