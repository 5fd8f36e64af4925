"""Stated errors of standard deviations, against nested Gauss rules that share no code with gplens."""

import inspect
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from gplens import Diagonal, Full, Posterior, explain
from gplens.baselines import Rows
from gplens.expectations.expectation import ExpectedLink
from gplens.explanation import Spread
from gplens.kernels import RBF, ActiveDimensions, Kernel, Matern32, Matern52, RationalQuadratic, Scale, Sum
from gplens.lines.line import Line
from gplens.links import Exp, Identity, Link, Probit
from gplens.paths.integrand import Question
from gplens.uncertainty import Uncertainty
from gplens.uncertainty.latent_paths import PathDraws
from messages import naming
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


def spread_of(posterior: Posterior, link: str, x: Tensor, x0: Tensor, request: Uncertainty) -> Spread:
    spread = explain(posterior, x, baseline=Rows(x0), likelihood=LINKS[link][0], uncertainty=request).spread
    assert spread is not None
    return spread


def excess(spread: Spread, std: Tensor) -> Tensor:
    """How far the deviations of the first row are off beyond their stated error and rounding, in the largest one."""
    assert spread.std is not None
    assert spread.error is not None
    return ((spread.std[0] - std).abs() - spread.error[0]).max() / std.max() - 1e-8


def converged(spread: Spread) -> Tensor:
    assert spread.converged is not None
    return spread.converged


LENGTHS = {"rbf": 6.0, "matern32": 1.0, "matern52": 3.0, "rational quadratic": 0.1, "sum": 1.0, "additive": 1.0}


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_deviations_are_within_their_stated_error(kernel: str, link: str) -> None:
    """To the default tolerance, and to one of 1e-6."""
    g, length = np.random.default_rng(3), LENGTHS[kernel]
    posterior, naive = model(kernel, g, 3, 6, 0.05, 1.0)
    x, x0 = path(posterior, g, 3, length)
    std = truth(naive, link, x, x0, length, order=8)
    for request in (Diagonal(), Full(tolerance=1e-6)):
        spread = spread_of(posterior, link, x, x0, request)
        assert bool(converged(spread).all())
        assert spread.std is not None
        assert spread.error is not None
        assert float(spread.error.max()) <= (1 + 1e-12) * request.accuracy * float(spread.std.max())
        assert float(excess(spread, std)) <= 0


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("length", [0.1, 10.0, 30.0])
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_short_and_long_paths(kernel: str, link: str, length: float) -> None:
    g = np.random.default_rng(4)
    posterior, naive = model(kernel, g, 2, 8, 0.05, 1.0)
    x, x0 = path(posterior, g, 2, length)
    std = truth(naive, link, x, x0, length, order=8)
    for request in (Diagonal(), Diagonal(tolerance=1e-5)):
        spread = spread_of(posterior, link, x, x0, request)
        assert float(excess(spread, std)) <= 0
        assert request.tolerance < 1e-3 or bool(converged(spread).all())


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
@pytest.mark.parametrize("block", range(8))
def test_no_converged_deviation_is_off_by_more_than_its_stated_error(block: int) -> None:
    """Of 30 random models each, with tolerances from 1e-6 to 1e-2."""
    misses, reached = [], 0
    for i in range(30):
        g = np.random.default_rng([fresh_seed(), block, i])
        kernel, link = (list(names)[g.integers(len(names))] for names in (KERNELS, LINKS))
        d, n, length = int(g.integers(1, 5)), int(g.integers(3, 20)), float(10 ** g.uniform(-1, 1))
        posterior, naive = model(kernel, g, d, n, 10 ** g.uniform(-3, -0.3), 10 ** g.uniform(-0.7, 0.4))
        x, x0 = path(posterior, g, d, length)
        spread = spread_of(posterior, link, x, x0, Diagonal(tolerance=float(10 ** g.uniform(-6, -2))))
        if bool(converged(spread)[0]):
            reached += 1
            off = float(excess(spread, truth(naive, link, x, x0, length, order=10)))
            misses += [(i, kernel, link, off)] if off > 0 else []
    assert not misses
    assert reached >= 24


@pytest.mark.parametrize("link", LINKS)
def test_short_paths_of_matern32_converge(link: str) -> None:
    """To 1e-6 on 49 paths of up to one lengthscale for each link."""
    g = np.random.default_rng(5)
    posterior, _ = model("matern32", g, 3, 12, 0.05, 1.0)
    paths = [path(posterior, g, 3, length) for length in np.linspace(0.05, 1, 49)]
    x, x0 = (torch.cat(column) for column in zip(*paths, strict=True))
    assert bool(converged(spread_of(posterior, link, x, x0, Diagonal(tolerance=1e-6))).all())


@pytest.mark.parametrize("kernel", ["rbf", "matern32", "matern52"])
def test_nine_digits_can_be_asked_for(kernel: str) -> None:
    g = np.random.default_rng(6)
    posterior, naive = model(kernel, g, 3, 6, 0.1, 1.0)
    x, x0 = path(posterior, g, 3, 0.8)
    spread, std = spread_of(posterior, "exp", x, x0, Diagonal(tolerance=1e-9)), truth(naive, "exp", x, x0, 1.0)
    assert bool(converged(spread).all())
    assert spread.std is not None
    torch.testing.assert_close(spread.std[0], std, rtol=0, atol=2e-9 * float(std.max()))


def test_draws_of_matern32_are_as_wide_as_the_exact_deviation() -> None:
    """Ten lengthscales. A linear target is linear in the normals of a draw, so that its deviation needs no draws."""
    g = np.random.default_rng(7)
    posterior, naive = model("matern32", g, 3, 6, 0.05, 1.0)
    x, x0 = path(posterior, g, 3, 10.0)
    paths = PathDraws.on(Question(posterior, ExpectedLink((Identity(),)), (0,), 1e-6), x0[0], x[0], 4, full=False)
    by_normal, weights = paths.given(torch.eye(paths.dims, dtype=torch.float64))
    mean, _ = paths.given(torch.zeros(1, paths.dims, dtype=torch.float64))
    variance = ((by_normal - mean) ** 2).sum(0) + paths.variance(weights[:1])[0]
    std = truth(naive, "identity", x, x0, 10.0, order=4)
    torch.testing.assert_close(paths.unit[0] * variance[0].sqrt(), std, rtol=3e-3, atol=0)


@pytest.mark.parametrize("kind", [Diagonal, Full])
@pytest.mark.parametrize("tolerance", [0, -1e-3, 1, float("nan"), "1e-3", True, None])
def test_a_tolerance_outside_its_range_is_refused(kind: type, tolerance: object) -> None:
    request = object.__new__(kind)
    with pytest.raises(ValueError, match=naming(kind.__name__, "tolerance", 1e-13, tolerance)):
        inspect.unwrap(kind.__init__)(request, tolerance=tolerance)  # as a user does, for whom no type is checked
