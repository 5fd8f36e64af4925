"""Minibatch training of one sparse model by several processes with different rows (6.12), (6.13)."""

from time import perf_counter
from typing import Any, final

import torch
import torch.distributed as dist
from gpytorch.likelihoods import Likelihood
from jaxtyping import Float
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from gplens.estimators.fitting import optimizer_of
from gplens.estimators.gp_models import Sparse, log_prior
from gplens.estimators.training.bound import Features, features
from gplens.estimators.training.checkpoint import State, adam_moments, joined, parted
from gplens.estimators.training.expected import expected_log_prob
from gplens.estimators.training.loop import BLOCK
from gplens.estimators.training.monitor import SPENT, Best
from gplens.estimators.training.options import NaturalGradients, Training
from gplens.estimators.training.q_of_u import Factored, Natural, VariationalPosterior, least_squares, natural_sums
from gplens.estimators.training.rows import LOOKS, generator_of
from gplens.scale.placed_checkpoint import PlacedCheckpoint
from gplens.scale.posing import PosedFit
from gplens.scale.training_rows import Stream

Outputs = tuple[Float[Tensor, ""], Float[Tensor, "c b"], Float[Tensor, "c b"], Features]


@final
class BatchBound(torch.nn.Module):
    """The contribution of a worker to the bound of a step; the bound is the average over the workers (6.12)."""

    def __init__(self, model: Sparse, likelihood: Likelihood, q: VariationalPosterior, rows: int) -> None:
        super().__init__()
        self.model, self.likelihood, self.q, self.rows = model, likelihood, q, rows

    def forward(self, X: Tensor, y: Tensor, weight: float, generator: torch.Generator) -> Outputs:
        """The bound per row with `weight` for each row of the batch, the marginals of the batch, and its features."""
        q, batch = self.q.gaussian(), features(self.model, X)
        m, v = q.marginals(batch)
        if not m.requires_grad:  # if only q(u) is learnt
            m, v = m.requires_grad_(), v.requires_grad_()
        value = expected_log_prob(self.likelihood, y, m, v, generator).sum()
        return weight * value - q.divergence() / self.rows, m, v, batch


@final
class ParallelLoop:
    """The state of a fit in one of several processes, which all have the same model after each step."""

    def __init__(self, posed: PosedFit, training: Training, stream: Stream) -> None:
        self.posed, self.training, self.stream = posed, training, stream
        self.rank, self.workers, self.best = dist.get_rank(), dist.get_world_size(), Best()
        self.optimizer = optimizer_of(training, posed.problem)
        self.model, self.likelihood, self.seed = posed.model, posed.likelihood, posed.design.seed
        self.typical = posed.design.typical(posed.scaling.apply(posed.table.X))
        self.own_rows = stream.rows()
        self.rows = int(_sum(torch.tensor(float(self.own_rows), dtype=torch.float64)))
        natural = isinstance(self.optimizer, NaturalGradients)
        self.model.strategy.inducing_points.requires_grad_(training.learn_inducing)
        self.model.covar_module.requires_grad_(training.learn_kernel)
        self.model.q.requires_grad_(not natural)
        h, P = self._start()
        self.q: VariationalPosterior = Natural(h, P) if natural else Factored(self.model, h, P)
        self.bound = BatchBound(self.model, self.likelihood, self.q, self.rows)
        self.learnt = [p for p in self.bound.parameters() if p.requires_grad]
        rate = self.optimizer.adam_rate if isinstance(self.optimizer, NaturalGradients) else self.optimizer.rate
        self.adam = torch.optim.Adam(self.learnt, lr=rate) if self.learnt else None
        self.parallel = DistributedDataParallel(self.bound) if self.learnt else self.bound

    def _start(self) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c m m"]]:
        """q(u) by least squares from the sample, weighted to the number of all rows; the same in all processes."""
        X, _ = self.posed.sampled
        sites = self.posed.problem.sites(self.posed.problem.y)
        counted = self.posed.table.weights
        w = sites.w if counted is None else sites.w * counted
        weight = self.rows / (len(X) if counted is None else float(counted.sum()))
        h, P = least_squares(self.model, X, type(sites)(sites.t.to(X.dtype), (weight * w).to(X.dtype)))
        dist.broadcast(h, 0)
        dist.broadcast(P, 0)
        return h, P

    def run(self, checkpoint: PlacedCheckpoint, deadline: float | None) -> dict[str, Any]:
        """Train until `model` and `likelihood` hold the best model, and return a summary."""
        began, training, stopped = perf_counter(), self.training, "all steps done"
        first = step = self._resume(checkpoint)
        for step in range(first, training.steps):
            self._step(step)
            stopping = training.stopping
            if stopping is not None and (step + 1) % stopping.every == 0:
                if not self.best.offer(self.watch(), step + 1, self._tensors(), stopping):
                    stopped = "the bound no longer grew"
                    break
                spent = torch.tensor(float(deadline is not None and perf_counter() > deadline))
                if float(_sum(spent)) > 0:
                    stopped = SPENT
                    break
            if (step + 1) % training.checkpoint_every == 0:
                self._save(checkpoint, step + 1)
        self._keep_best(step + 1)
        summary = {"steps": step + 1, "best_step": self.best.step, "stopped": stopped, "elbo_per_row": self.best.value}
        summary |= {"rows": self.rows, "workers": self.workers, "resumed_at_step": first}
        return {**summary, "held_out_rows": len(self.posed.watched[0]), "seconds": perf_counter() - began}

    def _step(self, step: int) -> None:
        """One batch of each worker: gradients are averaged by DDP, the sums of natural gradients here (6.13)."""
        X, y = next(self.stream)
        share, decay = self.own_rows / len(X), self.training.schedule.factor(step / self.training.steps)
        generator = generator_of(self.seed, step * self.workers + self.rank)
        weight = self.workers * share / self.rows
        bound, m, v, batch = self.parallel(X, y, weight, generator)
        if not bool(torch.isfinite(bound)):
            raise ArithmeticError(
                f"expected a finite ELBO, got {float(bound)} in step {step}; train with a smaller rate, such as "
                "Training(optimizer=Adam(rate=0.003))."
            )
        sums = None
        if isinstance(self.q, Natural):
            by_m, by_v = (part / weight for part in torch.autograd.grad(bound, (m, v), retain_graph=True))
            sums = natural_sums(batch, m.detach(), (by_m, by_v), share)
        if self.adam is not None:
            self.adam.zero_grad()
            prior = log_prior(self.model.covar_module, self.typical) / self.rows
            (-bound - prior).backward()
            for group in self.adam.param_groups:
                group["lr"] = decay * self.adam.defaults["lr"]
            self.adam.step()
        if isinstance(self.q, Natural) and sums is not None:
            towards, gram = map(_sum, sums)
            self.q.move(towards, gram, decay * self.optimizer.rate)  # (6.13)

    @torch.no_grad()
    def watch(self) -> float:
        """The ELBO per row on the watched rows, of which each worker evaluates a part."""
        X, y = (part[self.rank :: self.workers] for part in self.posed.watched)
        q, generator = self.q.gaussian(), generator_of(self.seed, LOOKS - self.rank)
        total = torch.zeros((), dtype=torch.float64)
        for rows in torch.arange(len(X)).split(BLOCK):
            m, v = q.marginals(features(self.model, X[rows]))
            total += expected_log_prob(self.likelihood, y[rows], m, v, generator).double().sum()
        return float(_sum(total) / len(self.posed.watched[0]) - q.divergence() / self.rows)

    def _keep_best(self, step: int) -> None:
        last = self.watch()
        if last >= self.best.value or not self.best.tensors:
            self.best = Best(last, step)
        else:
            self._restore(self.best.tensors)
        self.q.write(self.model)

    def _tensors(self) -> dict[str, Tensor]:
        """Parameters, q(u) and the moments of Adam, by name."""
        parts = {"model": dict(self.model.state_dict()), "likelihood": dict(self.likelihood.state_dict())}
        return joined({**parts, "q": self.q.tensors(), "adam": adam_moments(self.adam)})

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        part = parted(tensors, ("model", "likelihood", "q", "adam"))
        self.model.load_state_dict(part["model"])
        self.likelihood.load_state_dict(part["likelihood"])
        if isinstance(self.q, Natural):
            self.q.h, self.q.P = part["q"]["h"], part["q"]["P"]
        for name, tensor in part["adam"].items():
            assert self.adam is not None
            i, moment = name.split(".")
            self.adam.state[self.learnt[int(i)]][moment] = tensor.clone()

    def _save(self, checkpoint: PlacedCheckpoint, step: int) -> None:
        """The state, written by the first worker, and the places of all streams."""
        places = torch.zeros(self.workers, 2, dtype=torch.float64)
        places[self.rank] = torch.tensor([self.stream.turn, self.stream.first], dtype=torch.float64)
        places = _sum(places)
        if self.rank == 0:
            checkpoint.save(State(step, self._tensors(), self.best), places)

    def _resume(self, checkpoint: PlacedCheckpoint) -> int:
        """Restore the state of a checkpoint, if there is one; return the next step."""
        loaded = checkpoint.load()
        if loaded is None:
            return 0
        state, places = loaded
        self._restore(state.tensors)
        self.best = state.best
        turn, first = (int(number) for number in places[self.rank])
        self.stream.skip_to(turn, first, state.step)
        return state.step


def _sum(tensor: Tensor) -> Tensor:
    """The sum over all workers."""
    total = tensor.clone()
    dist.all_reduce(total)
    return total
