"""What users have without gplens: Captum over the host's autograd, central differences where there is no autograd."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from captum.attr import IntegratedGradients
from torch import Tensor

from models import Workload

DRAWS = 256
"""Draws of the latent values behind a probability: autograd has no expected softmax."""
STEP = 1e-5
"""The step of central differences, relative to columns of deviation one: their error is about 1e-10."""


def counts_by_captum(work: Workload, points: int, steps: int = 50) -> Tensor:
    """Gauss-Legendre steps over GPyTorch's autograd of E exp(f), so many points of paths at once."""

    def response(x: Tensor) -> Tensor:
        f = work.model(x)
        return torch.exp(f.mean + f.variance / 2)

    return _attribute(response, work, points, steps)


def classes_by_captum(work: Workload, classes: Sequence[int], points: int, steps: int = 50) -> Tensor:
    """The same for each class, softmax averaged over fixed draws."""
    count = work.model.variational_strategy.num_tasks
    z = torch.randn(DRAWS, 1, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def response(x: Tensor) -> Tensor:
        f = work.model(x)
        return torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)

    return torch.stack([_attribute(response, work, points, steps, target=c) for c in classes], dim=1)


def posterior_mean_by_captum(work: Workload, points: int, steps: int = 50) -> Tensor:
    """The same for `model.posterior(x).mean` of BoTorch, each point on its own, as acquisition functions take it."""
    return _attribute(lambda x: work.model.posterior(x[:, None]).mean[:, 0, 0], work, points, steps)


def _attribute(response: Any, work: Workload, points: int, steps: int, target: int | None = None) -> Tensor:
    options: dict[str, Any] = {"target": target, "n_steps": steps, "internal_batch_size": points}
    return IntegratedGradients(response).attribute(work.X, work.x0.expand_as(work.X), **options).detach()


def predictions_by_differences(work: Workload, steps: int = 50) -> Tensor:
    """Integrated Gradients from central differences of `model.predict`, with as many Gauss-Legendre steps."""
    nodes, weights = np.polynomial.legendre.leggauss(steps)
    t, w = (nodes + 1) / 2, weights / 2
    x, x0 = work.X.numpy(), work.x0.numpy()
    path = x0 + t[:, None, None] * (x - x0)
    total = np.empty_like(x)
    for k in range(x.shape[1]):
        step = np.zeros(x.shape[1])
        step[k] = STEP
        up, down = (work.model.predict((path + sign * step).reshape(-1, len(step))) for sign in (1, -1))
        total[:, k] = (x - x0)[:, k] * (w @ ((up - down) / (2 * STEP)).reshape(steps, -1))
    return torch.from_numpy(total)
