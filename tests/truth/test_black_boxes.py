"""Narrow bumps of functions that gplens knows nothing about, seen by the rule that looks harder."""

import numpy as np
import pytest
import torch
from torch import Tensor

import gplens
from gplens.rules import Adaptive
from gplens.targets import Latent
from seeds import fresh_seed

HARDER = Adaptive(reach=0.05)


def check_random_bump(seed: int, rule: Adaptive) -> bool:
    """x_1 + a bump of a width from 1/1000 to 1/100 of the path, beside it. Returns whether it was seen.

    The oracle is a midpoint sum of 2^15 autograd gradients, exact for a smooth bump inside the path.
    """
    rng = np.random.default_rng(seed)
    width, height = float(10 ** rng.uniform(-3, -2)), float(rng.uniform(1, 5))
    centre = torch.tensor(rng.uniform(0.05, 0.95) + width * rng.uniform(-1, 1, 2))

    def f(x: Tensor) -> Tensor:
        return x[:, 0] + height * torch.exp(-((x - centre) ** 2).sum(1) / (2 * width**2))

    e = gplens.explain(gplens.Functions(f, features=2), [[1.0, 1.0]], baseline=0.0, target=Latent(), rule=rule)
    t = (torch.arange(2**15, dtype=torch.float64) + 0.5) / 2**15
    x = t[:, None].repeat(1, 2).requires_grad_()
    truth = torch.autograd.grad(f(x).sum(), x)[0].mean(0)
    return bool((e.values[0] - truth).abs().max() <= 1e-6 * truth.abs().max() + 1e-9)


def test_bumps_are_seen_by_the_rule_that_looks_harder() -> None:
    assert all(check_random_bump(seed, HARDER) for seed in range(30))


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
def test_the_default_rule_can_miss_them_as_the_docs_say() -> None:
    assert not all(check_random_bump(seed, Adaptive()) for seed in range(30))


@pytest.mark.slow
def test_bumps_with_seeds_that_move() -> None:
    start = fresh_seed()
    missed = [start + i for i in range(200) if not check_random_bump(start + i, HARDER)]
    assert not missed
