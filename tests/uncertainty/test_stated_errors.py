"""Stated errors of standard deviations, against nested Gauss rules that share no code with gplens."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from gplens import Diagonal, Full, Posterior, explain
from gplens.kernels import RBF, ActiveDimensions, Kernel, Matern32, Matern52, RationalQuadratic, Scale, Sum
from gplens.lines.line import Line
from gplens.links import Exp, Identity, Link, Probit
from oracles import deviations as oracle
from seeds import fresh_seed

Pair = tuple[Kernel, oracle.Jet]
LINKS: dict[str, tuple[Link, Callable[..., tuple[np.ndarray, ...]]]] = {
    "identity": (Identity(), oracle.identity),
    "exp": (Exp(), oracle.exp),
    "probit": (Probit(), oracle.probit),
}


def scales(g: np.random.Generator, d: int) -> np.ndarray:
    return g.uniform(0.5, 2.0, d)


def stationary(kind: type, jet: Callable[[np.ndarray], oracle.Jet], g: np.random.Generator, d: int) -> Pair:
    scale = scales(g, d)
    return kind(torch.as_tensor(scale)), jet(scale)


def rational(g: np.random.Generator, d: int) -> Pair:
    scale, alpha = scales(g, d), float(g.uniform(0.5, 3))
    return RationalQuadratic(torch.as_tensor(scale), torch.tensor(alpha).double()), oracle.rational_quadratic(
        scale, alpha
    )


def summed(g: np.random.Generator, d: int) -> Pair:
    (rough, a), (smooth, b) = KERNELS["matern32"](g, d), KERNELS["rbf"](g, d)
    return Sum((Scale(rough, torch.tensor(0.3).double()), smooth)), oracle.weighted_sum((0.3, a), (1.0, b))


def additive(g: np.random.Generator, d: int) -> Pair:
    parts = [KERNELS["matern32" if i % 2 else "matern52"](g, 1) for i in range(d)]
    kernels = tuple(ActiveDimensions(kernel, torch.tensor([i])) for i, (kernel, _) in enumerate(parts))
    return Sum(kernels), oracle.weighted_sum(*((1.0, oracle.of_feature(i, jet)) for i, (_, jet) in enumerate(parts)))


KERNELS: dict[str, Callable[[np.random.Generator, int], Pair]] = {
    "rbf": partial(stationary, RBF, oracle.rbf),
    "matern32": partial(stationary, Matern32, oracle.matern32),
    "matern52": partial(stationary, Matern52, oracle.matern52),
    "rational quadratic": rational,
    "sum": summed,
    "additive": additive,
}


def model(
    kernel: str, g: np.random.Generator, d: int, n: int, noise: float, amplitude: float
) -> tuple[Posterior, oracle.Model]:
    """A regression on random data, twice."""
    ours, jet = KERNELS[kernel](g, d)
    ours, jet = Scale(ours, torch.tensor(amplitude**2).double()), oracle.weighted_sum((amplitude**2, jet))
    Z, y = g.normal(size=(n, d)), amplitude * g.normal(size=n)
    K = jet(Z[:, None], Z)[0]
    A = np.linalg.inv(K + noise * amplitude**2 * np.eye(n))
    A = (A + A.T) / 2
    posterior = Posterior.exact(ours, torch.as_tensor(Z), torch.as_tensor(y), noise=noise * amplitude**2)
    return posterior, oracle.Model(jet, Z, A @ y, A)


def path(posterior: Posterior, g: np.random.Generator, d: int, length: float) -> tuple[Tensor, Tensor]:
    """An input and a baseline at so many lengthscales, through the data."""
    middle, direction = torch.as_tensor(0.5 * g.normal(size=(1, d))), torch.as_tensor(g.normal(size=(1, d)))
    unit = float(posterior.length(Line(middle, direction, middle.new_zeros(1, 0))))
    return middle + length / unit / 2 * direction, middle - length / unit / 2 * direction


def truth(naive: oracle.Model, link: str, x: Tensor, x0: Tensor, length: float, order: int = 12) -> Tensor:
    """On panels of a third of a lengthscale, cut where the path passes a support point in one feature."""
    at, d = x0[0].numpy(), (x - x0)[0].numpy()
    passes = ((naive.Z - at) / d).ravel()
    edges = np.linspace(0, 1, max(3, round(3 * length) + 1))
    edges = np.unique(np.concatenate([edges, passes[(passes > 0) & (passes < 1)]]))
    return torch.as_tensor(naive.variances(LINKS[link][1], at + d, at, edges, order)).clamp(min=0).sqrt()


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_deviations_are_within_their_stated_error(kernel: str, link: str) -> None:
    for i, length in enumerate((0.1, 1.0, 6.0)):
        g = np.random.default_rng([i, 3])
        posterior, naive = model(kernel, g, 3, 10, 0.05, 1.0)
        x, x0 = path(posterior, g, 3, length)
        std = truth(naive, link, x, x0, length)
        for tolerance in (1e-3, 1e-6):
            spread = explain(
                posterior, x, baseline=x0, likelihood=LINKS[link][0], uncertainty=Diagonal(tolerance=tolerance)
            ).spread
            assert (
                spread is not None
                and spread.std is not None
                and spread.error is not None
                and spread.converged is not None
            )
            assert bool(spread.converged.all())
            assert float(spread.error.max()) <= tolerance * float(spread.std.max())
            assert bool(((spread.std[0] - std).abs() <= spread.error[0] + 1e-9 * std.max()).all())
