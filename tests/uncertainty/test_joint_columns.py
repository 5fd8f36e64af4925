"""Covariances of f and of some of its derivatives, against central differences of the posterior's covariances of f."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from conformance.zoo import generator, normal
from gplens import Posterior, kernels
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed
from gplens.uncertainty.joint_columns import joint_in_columns

STEP = 2.0**-12
WHOLE = slice(0, 4)
W = torch.tensor([[0.5, 0.0, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 1.0]], dtype=torch.float64)


def posterior(seed: int) -> Posterior:
    X, y = normal(generator(seed), 9, 3), normal(generator(seed + 1), 9)
    kernel = kernels.Sum((kernels.RBF(torch.tensor([0.8, 1.1, 1.4]).double()), kernels.Linear(torch.ones(3).double())))
    return Posterior.exact(kernel, X, y, noise=0.1)


def covariance(of: Posterior, X: Tensor, Y: Tensor) -> Tensor:
    """k(x, y) - k(x, Z) (K + noise)^-1 k(Z, y), dense."""
    K = of.kernel(of.Z, of.Z) + 0.1 * torch.eye(len(of.Z), dtype=X.dtype)
    return of.kernel(X, Y) - of.kernel(X, of.Z) @ torch.linalg.solve(K, of.kernel(of.Z, Y))


PROCESSES: dict[str, tuple[Callable[[], Process], int, Callable[[Tensor, Tensor], Tensor]]] = {
    "posterior": (lambda: posterior(0), 0, lambda X, Y: covariance(posterior(0), X, Y)),
    "the second of a stack": (
        lambda: Stack((posterior(0), posterior(4))),
        1,
        lambda X, Y: covariance(posterior(4), X, Y),
    ),
    "of transformed inputs": (
        lambda: Transformed.through(posterior(0), AffineMap(W, lambda x: x @ W + 0.1)),
        0,
        lambda X, Y: covariance(posterior(0), X @ W + 0.1, Y @ W + 0.1),
    ),
}


@pytest.mark.parametrize("name", PROCESSES)
@pytest.mark.parametrize("dims", [[1], [2, 0], []], ids=repr)
def test_covariances_of_some_derivatives(name: str, dims: list[int]) -> None:
    build, latent, oracle = PROCESSES[name]
    X = normal(generator(9), 4, 3)
    C = joint_in_columns(build(), latent, X, torch.tensor(dims, dtype=torch.int64)).covariance(WHOLE, WHOLE)
    steps = [torch.zeros(3).double(), *(STEP * torch.eye(3).double()[k] for k in dims)]
    assert C.shape == (4, len(steps), 4, len(steps))
    for a, left in enumerate(steps):
        for b, right in enumerate(steps):
            corners = [
                i * j * oracle(X + i * left, X + j * right) for i in signs(a) for j in signs(b)
            ]  # f itself where there is no step
            difference = torch.stack(corners).sum(0) / (2 * STEP) ** ((a > 0) + (b > 0))
            torch.testing.assert_close(C[:, a, :, b], difference, rtol=1e-5, atol=1e-5)


def signs(place: int) -> tuple[int, ...]:
    return (1, -1) if place else (1,)
