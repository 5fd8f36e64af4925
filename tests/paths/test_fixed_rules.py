"""Fixed rules on integrands with known integrals."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from synthetic import SMOOTH, Synthetic, bend, one, waves

from gplens.rules import FixedRule, GaussKronrod, GaussLegendre, RiemannLeft, RiemannMiddle, RiemannRight, Trapezoid
from messages import naming


def test_riemann_is_the_sum_over_right_end_points() -> None:
    found = RiemannRight(10).integrate(one(SMOOTH), 1e-6)
    by_hand = sum(np.exp(2 * (i + 1) / 10) for i in range(10)) / 10
    assert float(found.values) == pytest.approx(by_hand, rel=1e-14)
    assert found.error is None
    assert found.converged is None
    assert found.nodes.tolist() == [10]


def test_riemann_error_falls_like_one_over_the_count() -> None:
    """The error of the right rule is (f(1) - f(0)) / 2n + O(1/n^2)."""
    for n in (100, 400, 1600):
        error = float(RiemannRight(n).integrate(one(SMOOTH), 1e-6).values) - SMOOTH[1]
        assert error * 2 * n == pytest.approx(np.e**2 - 1, rel=2 / n)


@pytest.mark.parametrize(("kind", "factor"), [(RiemannMiddle, -1 / 12), (Trapezoid, 1 / 6)])
def test_middle_and_trapezoid_errors_fall_like_one_over_the_square(kind: type[FixedRule], factor: float) -> None:
    """-(f'(1) - f'(0)) / 24n^2 and (f'(1) - f'(0)) / 12n^2, n intervals; f' = 2 e^2t."""
    for n in (100, 400):
        count = n + 1 if kind is Trapezoid else n
        error = float(kind(count).integrate(one(SMOOTH), 1e-6).values) - SMOOTH[1]
        assert error * n**2 == pytest.approx(factor * (np.e**2 - 1), rel=1e-2)


@pytest.mark.parametrize("kind", [RiemannLeft, RiemannMiddle, RiemannRight, Trapezoid])
def test_weights_of_even_rules_sum_to_one(kind: type[FixedRule]) -> None:
    t, w, _ = kind(7).nodes_and_weights()
    assert len(t) == 7
    assert w.sum() == pytest.approx(1, rel=1e-15)
    with pytest.raises(ValueError, match=naming(kind.__name__, "count", 2 if kind is Trapezoid else 1, 0)):
        kind(0)


def test_left_and_right_end_points_average_to_the_trapezoid() -> None:
    left, right = (float(kind(10).integrate(one(SMOOTH), 1e-6).values) for kind in (RiemannLeft, RiemannRight))
    assert float(Trapezoid(11).integrate(one(SMOOTH), 1e-6).values) == pytest.approx((left + right) / 2, rel=1e-14)


def test_gauss_converges_geometrically() -> None:
    errors = [abs(float(GaussLegendre(n).integrate(one(SMOOTH), 1e-6).values) - SMOOTH[1]) for n in (2, 4, 6, 8)]
    assert all(later < 1e-2 * earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 1e-13


def test_kronrod_states_an_error_that_holds_and_whether_it_meets_the_tolerance() -> None:
    """Row by row: the smooth path converges, the oscillating one does not."""
    both = Synthetic([[SMOOTH, waves(3)], [waves(90), bend(0.3)]], [0.0, 0.0])
    found = GaussKronrod(7).integrate(both, 1e-6)
    assert found.error is not None
    assert found.converged is not None
    assert ((found.values[:, 0] - both.exact).abs() <= found.error[:, 0] + 1e-15).all()
    assert found.converged.tolist() == [True, False]
    assert found.nodes.tolist() == [15, 15]


def test_a_fixed_rule_does_not_look_at_the_tolerance() -> None:
    loose, tight = (GaussKronrod(7).integrate(one(SMOOTH), tolerance) for tolerance in (1e-1, 1e-13))
    assert torch.equal(loose.values, tight.values)


@pytest.mark.parametrize("kind", [GaussLegendre, GaussKronrod, RiemannRight])
def test_a_rule_without_nodes_is_refused(kind: type) -> None:
    with pytest.raises(ValueError, match=naming(kind.__name__, "count", 1, 0)):
        kind(0)
