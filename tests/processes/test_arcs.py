"""Pairs (cos, sin) in polar coordinates: which way round paths go, and derivatives of the map."""

from math import pi

import numpy as np
import pytest
import torch

import gplens
from gplens.kernels import RBF
from gplens.processes.arcs import Arcs

ARCS = Arcs(4, ((1, 2),))


def point(hour: float, radius: float = 1.0) -> torch.Tensor:
    """A row whose second and third input are a point of the circle of 24 hours."""
    angle = 2 * pi * hour / 24
    return torch.tensor([5.0, radius * np.cos(angle), radius * np.sin(angle), -1.0], dtype=torch.float64)


WAYS = [(23, 1, 2), (1, 23, -2), (0, 11, 11), (11, 0, -11), (2, 15, -11), (15, 2, 11), (0, 0, 0), (24, 1, 1)]
HALVES = [(6, 18, 12), (18, 6, -12), (0, 12, 12), (12, 0, -12), (24, 12, 12), (12, 24, -12), (11.5, 23.5, 12)]


@pytest.mark.parametrize(("start", "end", "hours"), WAYS + HALVES)
def test_paths_go_the_shorter_way_and_half_a_turn_through_noon(start: float, end: float, hours: float) -> None:
    found = ARCS.ends(point(end)[None], point(start)[None, None])
    if hours == 0:
        assert found is None
        return
    assert found is not None
    x, x0 = found
    assert abs(float(x[0, 2] - x0[0, 0, 2]) / (2 * pi) * 24 - hours) <= 1e-12
    assert float(x[0, 1]) == float(x0[0, 0, 1]) == 1.0, "rounding is no change of the radius"
    assert bool((x[0, [0, 3]] == point(end)[[0, 3]]).all()), "other inputs are as they were"


def test_every_input_has_its_own_angle_of_a_shared_baseline() -> None:
    found = ARCS.ends(torch.stack([point(22), point(2)]), point(0)[None, None])
    assert found is not None
    np.testing.assert_allclose(found[1][:, 0, 2] / (2 * pi) * 24, [24, 0], atol=1e-12)


def test_an_average_row_changes_the_radius_and_the_centre_has_no_angle() -> None:
    rows = torch.stack([point(3, 0.4), point(3, 0.0)])
    found = ARCS.ends(point(5)[None], rows[None])
    assert found is not None
    np.testing.assert_allclose(found[1][0, :, 1], [0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(found[1][0, :, 2] / (2 * pi) * 24, [3, 5], atol=1e-12)


def test_the_map_and_its_jacobian_are_those_of_autograd() -> None:
    """(1.13), for two pairs that do not follow each other."""
    r = np.random.default_rng(0)
    Z, x = (torch.from_numpy(r.normal(size=(n, 5))) for n in (12, 6))
    base = gplens.Posterior.exact(RBF(torch.ones(5)), Z, Z.sin().sum(1), noise=0.1)
    curved = Arcs(5, ((3, 1), (0, 4))).process(base)
    u = x.clone().requires_grad_()
    columns = [
        u[:, 0] * u[:, 4].cos(),
        u[:, 3] * u[:, 1].sin(),
        u[:, 2],
        u[:, 3] * u[:, 1].cos(),
        u[:, 0] * u[:, 4].sin(),
    ]
    mapped = torch.stack(columns, dim=1)
    torch.testing.assert_close(curved.phi(x), mapped.detach())
    k = (-(mapped[:, None] - Z).square().sum(2) / 2).exp()
    (slopes,) = torch.autograd.grad((k @ base.beta[0]).sum(), u)
    torch.testing.assert_close(curved.m_gradient(x)[:, 0], slopes, rtol=1e-9, atol=1e-12)
