"""Gaussian paths for the tests of pair moments: two nodes with a given correlation, or random ones."""

import torch
from torch import Tensor

from conformance.zoo import LINKS
from gplens.links import PairMoments
from oracles.pair_moments import Case

WITH_PAIRS = [case for case in LINKS.values() if case.pairs is not None]


def double(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def joint(cases: list[Case]) -> tuple[Tensor, Tensor, Tensor]:
    """A path of two nodes for every case."""
    m1, m2, v1, v2, r = torch.tensor(cases, dtype=torch.float64).T
    m, v = torch.stack([m1, m2], -1), torch.stack([v1, v2], -1)
    cross = r * torch.sqrt(v1 * v2)
    return m, v, torch.stack([v1, cross, cross, v2], -1).reshape(-1, 2, 2)


def off_diagonal(got: PairMoments) -> Tensor:
    """(cases, 4): the first node with the second."""
    return torch.stack([E[:, 0, 1] for E in got], -1)


def random_joint(seed: int, b: int, q: int, scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Means, variances and covariances of `b` paths of `q` nodes; the covariances have rank three."""
    generator = torch.Generator().manual_seed(seed)
    root = torch.randn(b, q, 3, generator=generator, dtype=torch.float64) * scale
    c = root @ root.transpose(-1, -2)
    return torch.randn(b, q, generator=generator, dtype=torch.float64), c.diagonal(dim1=1, dim2=2).clone(), c


def assert_close(
    got: Tensor, expected: Tensor, tolerance: float, *, link: object = "", points: list[Case] | None = None
) -> None:
    """Equal to `tolerance`, relative to max(1, |expected|).

    A failure states the numbers that differ most, the link, and, if the points of the rows are given, m, m', v, v', r.
    """
    assert got.shape == expected.shape, f"{link}: shape {tuple(got.shape)}, expected {tuple(expected.shape)}"
    error = (got - expected).abs() / expected.abs().clamp(min=1)
    failed = ~(error < tolerance)
    if not failed.any():
        return
    worst = tuple(int(i) for i in failed.nonzero()[error[failed].nan_to_num(torch.inf).argmax()])
    place = f"{PairMoments._fields[worst[1]]} at m, m', v, v', r = {points[worst[0]]}" if points else f"element {worst}"
    raise AssertionError(
        f"{link}, {place}: got {float(got[worst])!r}, expected {float(expected[worst])!r}, a difference of "
        f"{float(error[worst]):.1e} relative to max(1, |expected|), tolerance {tolerance:g}; {int(failed.sum())} of "
        f"{failed.numel()} numbers differ. With a width that is too large for the poles of g (LinkCase.width), it is "
        "the oracle that is wrong."
    )
