"""Random models, in which no deviation that has converged is off by more than it says."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from gplens import Diagonal, Posterior, Samples, explain
from gplens.baselines import Rows
from gplens.explanation import Spread
from gplens.kernels import RBF, Kernel, Matern32, Matern52, Product, Scale, Sum
from gplens.lines.line import Line
from gplens.links import Exp, Identity, Link, Probit, Sigmoid
from oracles import mixed_derivatives as oracle
from seeds import fresh_seed

LINKS: list[tuple[Link, oracle.Covariance]] = [
    (Identity(), oracle.identity),
    (Exp(), oracle.exp),
    (Probit(), oracle.probit),
    (Sigmoid(), oracle.sigmoid),
]
SHARES = [0.32, 0.32, 0.32, 0.04]
"""How often each link is drawn: the oracle of the sigmoid takes some twenty times as long as the others."""
LONG = 0.15
"""The share of paths of ten lengthscales, for the same reason."""
Pair = tuple[Kernel, oracle.Kernel]


def rough(scale: Tensor) -> Pair:
    return Matern32(scale), oracle.matern32(scale)


def less_rough(scale: Tensor) -> Pair:
    return Matern52(scale), oracle.matern52(scale)


def smooth(scale: Tensor) -> Pair:
    return RBF(scale), oracle.rbf(scale)


def summed(scale: Tensor) -> Pair:
    (a, naive_a), (b, naive_b) = rough(scale), smooth(1.5 * scale)
    return Sum((a, b)), lambda x, y: naive_a(x, y) + naive_b(x, y)


def multiplied(scale: Tensor) -> Pair:
    (a, naive_a), (b, naive_b) = less_rough(1.5 * scale), smooth(1.5 * scale)
    return Product((a, b)), lambda x, y: naive_a(x, y) * naive_b(x, y)


KERNELS: list[Callable[[Tensor], Pair]] = [rough, less_rough, smooth, summed, multiplied]


@dataclass
class Attack:
    """One random model with one path."""

    posterior: Posterior
    naive: oracle.Regression
    link: Link
    covariance: oracle.Covariance
    x: Tensor
    x0: Tensor
    length: float

    @staticmethod
    def random(seed: list[int], length: float | None = None, kernel: int | None = None) -> "Attack":
        g = np.random.default_rng(seed)
        d, n = int(g.integers(2, 5)), int(g.integers(4, 16))
        amplitude, noise = 10 ** g.uniform(-0.5, 0.3), 10 ** g.uniform(-3, -0.3)
        ours, naive = KERNELS[g.integers(len(KERNELS)) if kernel is None else kernel](
            torch.as_tensor(g.uniform(0.5, 2, d))
        )
        link, covariance = LINKS[g.choice(len(LINKS), p=SHARES)]
        Z, y = torch.as_tensor(g.normal(size=(n, d))), torch.as_tensor(amplitude * g.normal(size=n))
        variance = amplitude**2
        posterior = Posterior.exact(Scale(ours, torch.tensor(variance)), Z, y, noise=noise * variance)
        regression = oracle.Regression(lambda a, b: variance * naive(a, b), Z, y, noise * variance)
        wanted = (float(10 ** g.uniform(-1.3, 0)) if g.random() > LONG else 10.0) if length is None else length
        middle, direction = torch.as_tensor(0.7 * g.normal(size=(1, d))), torch.as_tensor(g.normal(size=(1, d)))
        half = wanted / 2 * direction / posterior.length(Line(middle, direction, middle.new_zeros(1, 0)))
        return Attack(posterior, regression, link, covariance, middle + half, middle - half, wanted)

    def spread(self, tolerance: float) -> Spread:
        options = {"baseline": Rows(self.x0), "likelihood": self.link, "uncertainty": Diagonal(tolerance=tolerance)}
        spread = explain(self.posterior, self.x, **options).spread
        assert spread is not None
        return spread

    def truth(self, panels: float = 2.0, order: int = 6) -> Tensor:
        edges = np.linspace(0, 1, 1 + max(2, round(panels * self.length)))
        return self.naive.deviations(self.covariance, self.x[0], self.x0[0], edges, order)

    def is_off(self, spread: Spread) -> bool:
        """Beyond the stated error and rounding; a finer rule decides where the first one says so."""
        return all(self._excess(spread, std) > 0 for std in (self.truth(), self.truth(6.0, 8)))

    @staticmethod
    def _excess(spread: Spread, std: Tensor) -> float:
        assert spread.std is not None
        assert spread.error is not None
        return float(((spread.std[0] - std).abs() - spread.error[0]).max() / std.max()) - 1e-8


def has_converged(spread: Spread) -> bool:
    assert spread.converged is not None
    return bool(spread.converged[0])


@pytest.mark.parametrize("seed", range(3))
def test_a_converged_deviation_is_within_its_stated_error(seed: int) -> None:
    attack = Attack.random([1, seed], length=1.0)
    spread = attack.spread(1e-3)
    assert has_converged(spread)
    assert not attack.is_off(spread)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")  # rows that say so are no attack
@pytest.mark.parametrize("block", range(4))
def test_no_converged_deviation_is_off_by_more_than_it_says(block: int) -> None:
    """Short paths and such of ten lengthscales, to tolerances from 1e-5 to 1e-2."""
    off, reached = [], 0
    for i in range(50):
        seed = [fresh_seed(), block, i]
        attack = Attack.random(seed)
        spread = attack.spread(float(10 ** np.random.default_rng(seed).uniform(-5, -2)))
        if has_converged(spread):
            reached += 1
            off += [(seed, attack.link, attack.length)] if attack.is_off(spread) else []
    assert not off
    assert reached >= 40


@pytest.mark.slow
def test_draws_of_matern32_are_no_wider_than_the_exact_deviation() -> None:
    """On ten lengthscales, for every link; 20,000 draws have deviations to one per cent if they are Gaussian."""
    for i in range(4):
        attack = Attack.random([2, i], length=10.0, kernel=0)
        request = Samples(20_000, seed=0, joint=False)
        e = explain(attack.posterior, attack.x, baseline=Rows(attack.x0), likelihood=Identity(), uncertainty=request)
        assert e.draws is not None
        std = attack.naive.deviations(oracle.identity, attack.x[0], attack.x0[0], np.linspace(0, 1, 31), 6)
        torch.testing.assert_close(e.draws[0].std(0), std, rtol=0.025, atol=0)
