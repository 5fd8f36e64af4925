"""The models of the paper: bikes and MNIST with the settings of the paper, compared with plain GPyTorch loops.


GPLENS_DATA=folder python benchmarks/images.py bikes paper mnist     # needs MNIST (IDX files); takes some minutes
"""

import os
import platform
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import perf_counter, process_time

import gpytorch
import numpy as np
import torch
from torch import Tensor

import gplens
from gplens.estimators import GPClassifier, GPCountRegressor, NaturalGradients, Training
from models import LogPoisson, Sparse

RESULTS = Path(__file__).parent / "training.md"
LARGE = Training(
    steps=48,
    batch=3000,
    optimizer=NaturalGradients(rate=0.4),
    stopping=None,
    learn_kernel=False,
    learn_inducing=False,
    single=True,
)
"""For images: one pass of least squares, then two and a half passes of natural gradients for q(u) alone."""


def timed(work: Callable[[], object]) -> tuple[object, float, float]:
    """The result, wall-clock seconds and CPU seconds."""
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, perf_counter() - wall, process_time() - cpu


def mnist_row() -> list[str]:
    data = gplens.datasets.mnist()
    (X, y), (new, labels) = ((part.X.numpy(), part.y.numpy()) for part in (data.train, data.test))
    model = GPClassifier("rbf", inducing_points=1200, ard=False, scaling="table", training=LARGE, random_state=0)
    _, wall, cpu = timed(lambda: model.fit(X, y))
    return ["MNIST, 1,200 inducing points", f"accuracy {model.score(new, labels):.4f}", seconds(wall, cpu)]


def plain_loop(model: Sparse, likelihood: gpytorch.likelihoods.Likelihood, X: Tensor, y: Tensor, steps: int) -> None:
    """The loop of GPyTorch's tutorials, with Adam for everything."""
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, len(X))
    optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        rows = torch.randint(len(X), (250,), generator=generator)
        optimizer.zero_grad()
        (-elbo(model(X[rows]), y[rows])).backward()
        optimizer.step()


def paper_rows() -> list[list[str]]:
    """100 inducing points, 500 steps of 250 rows, a kernel and inducing points for each class: GPyTorch, then ours."""
    data = gplens.datasets.mnist()
    X, y = data.train.X, data.train.y
    model = Sparse(X[:100].expand(10, -1, -1).clone(), 10)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)
    torch.manual_seed(0)
    _, wall, cpu = timed(lambda: plain_loop(model, likelihood, X, y.long(), 500))
    plain = plain_bound(model, X, y)
    options = {"inducing_points": 100, "inducing": "first", "shared": False, "scaling": "table", "random_state": 0}
    training = Training(steps=500, batch=250, stopping=None, single=True, optimizer=NaturalGradients(rate=0.1))
    ours = GPClassifier("rbf", **options, training=training)
    _, our_wall, our_cpu = timed(lambda: ours.fit(X.numpy(), y.numpy()))
    bound = ours.training_summary_["elbo_per_row"]
    return [
        ["MNIST as in the paper, plain GPyTorch", f"ELBO per row {plain:.4f}", seconds(wall, cpu)],
        ["MNIST as in the paper, `GPClassifier`", f"ELBO per row {bound:.4f}", seconds(our_wall, our_cpu)],
    ]


@torch.no_grad()
def plain_bound(model: Sparse, X: Tensor, y: Tensor) -> float:
    """The ELBO over all rows, with as many draws as the estimator takes."""
    from gplens.estimators.training.expected import expected_log_prob

    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)
    generator, total = torch.Generator().manual_seed(0), 0.0
    for rows in torch.arange(len(X)).split(2000):
        f = model.eval()(X[rows])
        total += float(expected_log_prob(likelihood, y[rows], f.mean.T, f.variance.T, generator).double().sum())
    kl = model.variational_strategy.kl_divergence().sum()
    return total / len(X) - float(kl) / len(X)


def bikes() -> tuple[Tensor, Tensor, Tensor]:
    """The paper's columns (harmonics, divided by the maximum), the counts, and the table as it is."""
    data = gplens.datasets.bike_sharing(kaggle=False)
    turns = [2 * torch.pi * data.column(name) / period for name, period in (("hour", 24), ("month", 12))]
    waves = [wave(angle) for angle in turns for wave in (torch.sin, torch.cos)]
    names = ("holiday", "working_day", "temperature", "humidity", "wind_speed")
    return torch.stack([*waves, *(data.column(name) / data.column(name).max() for name in names)], 1), data.y, data.X


def bike_rows() -> list[list[str]]:
    """50 inducing points and 500 steps of 250 rows of plain GPyTorch; the estimator on the same columns and on all."""
    encoded, y, table = bikes()
    held = torch.arange(len(y)) % 5 == 0
    model, likelihood = Sparse(encoded[~held][:50].clone()).double(), LogPoisson()
    torch.manual_seed(0)
    _, wall, cpu = timed(lambda: plain_loop(model, likelihood, encoded[~held], y[~held], 500))
    with torch.no_grad():
        f = model.eval()(encoded[held])
        plain = log_poisson(y[held], f.mean, f.variance)
    return [
        ["bikes as in the paper, plain GPyTorch", f"held-out log density {plain:.3f}", seconds(wall, cpu)],
        bike_row("the paper's columns, `GPCountRegressor()`", "matern52", encoded, y, held),
        bike_row('the paper\'s columns, `GPCountRegressor("matern32")`', "matern32", encoded, y, held),
        bike_row("the table as it is, `GPCountRegressor()`", "matern52", table, y, held),
    ]


def bike_row(name: str, kernel: str, X: Tensor, y: Tensor, held: Tensor) -> list[str]:
    """Held-out log densities for three seeds, and the time of the first."""
    densities, times = [], []
    for seed in range(3):
        ours = GPCountRegressor(kernel, random_state=seed)
        _, wall, cpu = timed(lambda: ours.fit(X[~held].numpy(), y[~held].numpy()))  # noqa: B023 (called at once)
        densities.append(f"{ours.log_density(X[held].numpy(), y[held].numpy()).mean():.3f}")
        times.append(seconds(wall, cpu))
    return [f"bikes, {name}", f"held-out log density {', '.join(densities)}", times[0]]


def log_poisson(y: Tensor, m: Tensor, v: Tensor) -> float:
    """log E Poisson(y; exp f), averaged over the rows, by Gauss-Hermite with 64 nodes."""
    nodes, weights = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(64))
    f = m[:, None] + v.sqrt()[:, None] * nodes
    log_p = torch.distributions.Poisson(f.exp()).log_prob(y[:, None])
    return float(torch.logsumexp(log_p + (weights / weights.sum()).log(), dim=1).mean())


def seconds(wall: float, cpu: float) -> str:
    return f"{wall:.0f} s ({cpu:.0f} s of CPU)"


def main() -> None:
    torch.set_num_threads(2)
    lines = ["| work | reached | time |", "|---|---|---|"]
    parts = {"bikes": bike_rows, "paper": paper_rows, "mnist": lambda: [mnist_row()]}
    for name in sys.argv[1:] or parts:
        for row in parts[name]():
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    load = f", load average {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""  # not on Windows
    head = f"# Training\n\nMeasured by `make bench-training` on {date.today()}, two threads{load} on "
    head += f"{os.cpu_count()} cores,\nPython {platform.python_version()}, torch {torch.__version__}, "
    if not sys.argv[1:]:
        RESULTS.write_text(f"{head}GPyTorch {gpytorch.__version__}.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
