"""Pieces of a panel: nothing of a panel is lost, however noisy or steep the link is."""

import numpy as np
import torch

import gplens
from gplens.expectations.expectation import ExpectedLink
from gplens.links import Probit, Quadrature, Square
from gplens.paths.nested import nested_rule
from gplens.paths.pieces import SteepPanels

RULE = nested_rule(15)
T = RULE.t


def weights(links: tuple[gplens.links.Link, ...], m: torch.Tensor, v: torch.Tensor, tolerance: float) -> torch.Tensor:
    outputs = tuple(range(m.shape[1]))
    return SteepPanels(ExpectedLink(links), outputs, m, v, RULE, tolerance).sums().by_m @ RULE.series


def test_a_step_has_all_of_its_weight() -> None:
    """int psi_m dt = 1/|m'| for Phi((m - s)/w) with m linear, whatever the width."""
    for width in (1e-2, 1e-5, 1e-8, 1e-11):
        m = (3 * T - 1)[None, None]
        total = weights((Probit(shift=0.1, noise=width**2),), m, torch.zeros_like(m), 1e-9).sum()
        np.testing.assert_allclose(float(total), 1 / 3, rtol=1e-7)


def test_a_noisy_link_ends_with_all_of_its_weight() -> None:
    """Noise above what the tolerance asks for: pieces are halved a bounded number of times, and none is lost."""

    def noisy(f: torch.Tensor) -> torch.Tensor:
        return torch.tanh(f) + 1e-13 * torch.sin(1e3 * f)

    m = (6 * T - 3)[None, None]
    total = weights((Quadrature(noisy, tolerance=1e-9),), m, torch.full_like(m, 1e-4), 1e-13).sum()
    exact = np.tanh(3.0) / 3  # int tanh'(6t - 3) dt, smoothed by a variance that changes it by less than 1e-4
    np.testing.assert_allclose(float(total), exact, rtol=1e-4)


def test_a_polynomial_beside_a_step() -> None:
    """An infinite resolution of one output leaves the others as they are alone."""
    m = torch.stack([T, 3 * T - 1])[None]
    v = torch.full_like(m, 1e-10)
    step = Probit(shift=0.1, noise=1e-8)
    together, alone = weights((Square(), step), m, v, 1e-9), weights((step,), m[:, 1:], v[:, 1:], 1e-9)
    torch.testing.assert_close(together[:, 1, 1], alone[:, 0, 0], rtol=1e-12, atol=1e-14)
