"""The adaptive rule on integrands with known integrals: smooth, kinked, narrow, oscillating, noisy."""

import pytest
import torch
from synthetic import NARROW, NOISY, SMOOTH, ZERO, Known, Synthetic, bend, bump, corner, one, waves

import gplens
from gplens.lines.line import Line
from gplens.paths.attribute import Adaptive
from gplens.paths.integrals import Integral
from gplens.paths.panels import gain

HARD: dict[str, tuple[list[Known], float]] = {
    "smooth": ([SMOOTH, waves(3)], 1.0),
    "second-derivative kink": ([bend(0.3), SMOOTH], 1.0),
    "first-derivative kink": ([corner(0.3), waves(2)], 1.0),
    "two kinks": ([corner(0.1234), bend(0.777)], 1.0),
    "narrow bump, told by the length": ([NARROW, SMOOTH], 300.0),
    "narrow bump alone": ([NARROW, ZERO], 300.0),
    "oscillating": ([waves(200), SMOOTH], 60.0),
    "oscillating, length understated": ([waves(200), waves(77)], 0.0),
}


def check(integrand: Synthetic, found: Integral, tolerance: float, slack: float = 1.0) -> None:
    """Converged; the tolerance is met relative to (4.8); the stated error bounds the true one.

    At a kink Gauss and Kronrod may agree by chance: there the error is an estimate and no bound, and slack is given.
    """
    assert found.error is not None
    assert found.converged is not None
    true = (found.values[:, 0] - integrand.exact).abs()
    scale = torch.maximum(integrand.change.abs()[:, 0], integrand.exact.abs().amax(1))[:, None]
    assert found.converged.all()
    assert (true <= slack * found.error[:, 0] + 1e-14 * scale).all()  # and the rounding of the sums
    assert (true <= tolerance * scale).all()
    assert (found.error[:, 0] <= tolerance * scale * 1.001).all()


def opposite(function: Known) -> Known:
    f, integral = function
    return lambda t: -f(t), -integral


def test_errors_that_cancel_in_the_sum_are_no_gain() -> None:
    """Two features whose errors are opposite at every node: sums that add up say nothing about either of them (4.9a).

    The integrands are not as smooth as they claim, so the stated error is no bound where Gauss and Kronrod agree by
    chance: 2 of 26 rows. If sums that add up counted as a gain, no row would be within its stated error.
    """
    rows = [[bend(place), opposite(bend(place)), ZERO] for place in (0.0123 + 0.0371 * torch.arange(26)).tolist()]
    integrand = Synthetic(rows, [0.0] * len(rows))
    found = Adaptive().integrate(integrand, 1e-6)
    assert found.error is not None
    missed = ((found.values[:, 0] - integrand.exact).abs() > found.error[:, 0] + 1e-14).any(1)
    assert int(missed.sum()) <= 5


@pytest.mark.parametrize("decay", [None, 1e-6])
@pytest.mark.parametrize("smooth", [True, False])
def test_no_information_is_no_gain(*, smooth: bool, decay: float | None) -> None:
    """0/0: the sums of both rules add up exactly, although the features of the lower one have errors (4.9a, 4.9c)."""
    none, possible = torch.zeros(1).double(), torch.ones(1).double()
    last = None if decay is None else decay * possible
    assert float(gain(none, none, possible, smooth=smooth, decay=last)) == 1.0


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9, 1e-12])
def test_the_tolerance_is_met_and_the_stated_error_is_a_bound(name: str, tolerance: float) -> None:
    functions, length = HARD[name]
    integrand = Synthetic([functions], [length])
    check(integrand, Adaptive().integrate(integrand, tolerance), tolerance, 4.0 if "kink" in name else 1.0)


@pytest.mark.parametrize("centre", [0.552, 0.31, 0.777])
def test_a_bump_that_no_node_sees_is_found_by_the_gap(centre: float) -> None:
    """Length understated: all sums vanish, the error estimate too; that they do not add up tells."""
    integrand = one(bump(centre, 1 / 300), 0.0)
    t = torch.linspace(0, 1, 2).double()
    assert abs(float(integrand.functions[0][0][0](t).sum())) < 1e-50
    check(integrand, Adaptive().integrate(integrand, 1e-8), 1e-8)


def test_a_bump_that_the_length_foretells_needs_no_second_look() -> None:
    """As many panels as the length asks for, and few of them are looked at again."""
    told = Adaptive().integrate(one(NARROW, 300.0), 1e-6)
    assert int(told.nodes) >= 100 * 15
    assert int(told.nodes) < 150 * 15


def test_a_finer_tolerance_begins_with_more_nodes() -> None:
    """9, 11, 15 and 31 of them, by the order of the error: none of these paths is looked at twice."""
    nodes = [int(Adaptive().integrate(one(SMOOTH, 1.0), tolerance).nodes) for tolerance in (1e-6, 1e-7, 1e-9, 1e-13)]
    assert nodes == [9, 11, 15, 31]


def test_rows_refine_independently() -> None:
    """An easy row costs and gives the same beside hard ones as alone."""
    names = list(HARD)
    together = Synthetic([HARD[name][0] for name in names], [HARD[name][1] for name in names])
    found = Adaptive().integrate(together, 1e-8)
    check(together, found, 1e-8, 4.0)
    for i, name in enumerate(names):
        alone = Adaptive().integrate(Synthetic([HARD[name][0]], [HARD[name][1]]), 1e-8)
        assert int(alone.nodes) == int(found.nodes[i]), name
        torch.testing.assert_close(alone.values[0], found.values[i], rtol=1e-14, atol=1e-15)
    assert int(found.nodes[0]) < int(found.nodes[1]) < int(found.nodes[4])


def test_a_smooth_path_of_one_lengthscale_takes_a_single_panel() -> None:
    assert int(Adaptive().integrate(one(SMOOTH, 1.0), 1e-6).nodes) == 9


@pytest.mark.parametrize("tolerance", [1e-11, 1e-12])
def test_noise_ends_in_not_converged_after_a_bounded_number_of_nodes(tolerance: float) -> None:
    found = Adaptive().integrate(one(NOISY), tolerance)
    assert found.converged is not None
    assert found.error is not None
    assert not found.converged.any()
    assert int(found.nodes) < 600_000
    assert float((found.values - 1).abs()) < 1e-7
    assert float(found.error) >= float((found.values - 1).abs())


def test_attributions_that_do_not_add_up_are_not_converged() -> None:
    """The integrals are right, but T(x) - T(x0) says otherwise: the gradient is not that of T."""
    found = Adaptive().integrate(Synthetic([[SMOOTH], [SMOOTH]], [1.0, 1.0], [SMOOTH[1], SMOOTH[1] + 1e-3]), 1e-6)
    assert found.converged is not None
    assert found.converged.tolist() == [True, False]
    assert int(found.nodes[0]) == 9


def test_a_named_approximation_need_not_add_up() -> None:
    found = Adaptive().integrate(Synthetic([[SMOOTH]], [1.0], [99.0], torch.inf), 1e-6)
    assert found.converged is not None
    assert found.converged.all()


def test_a_path_on_which_nothing_moves_is_zero_and_converged() -> None:
    found = Adaptive().integrate(one(ZERO), 1e-6)
    assert found.converged is not None
    assert found.converged.all()
    assert float(found.values) == 0
    assert int(found.nodes) == 9


def test_the_limit_on_panels_is_kept_and_said() -> None:
    """cos(5000 t) wants more than four panels."""
    found = Adaptive(panels=4).integrate(one(waves(5000), 5000.0), 1e-9)
    assert found.converged is not None
    assert not found.converged.any()
    assert int(found.nodes) < 4 * 4 * 100


@pytest.mark.parametrize("whole", [True, False], ids=["whole paths", "panels"])
def test_a_smaller_reach_looks_as_closely_as_it_says(whole: bool) -> None:
    """No first panel is longer than `reach` lengthscales, also where fewer nodes on the whole path would do."""
    Z = torch.linspace(0, 12, 5, dtype=torch.float64)[:, None]
    gp = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(1, dtype=torch.float64)), Z, Z[:, 0].sin(), noise=0.1)
    model = gp if whole else gplens.Functions(lambda x: x[:, 0].sin(), features=1)
    length = float(model.length(Line(Z[:1], Z[-1:] - Z[:1], Z.new_zeros(1, 0))))
    for reach in (0.5, 0.05):
        e = gplens.explain(
            model, Z[-1:], baseline=Z[0], target=gplens.targets.Latent(), rule=Adaptive(reach=reach), support=False
        )
        assert int(e.nodes[0]) >= 9 * length / reach


@pytest.mark.parametrize("kind", ["analytic", "rough"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole paths", "panels"])
def test_no_error_is_stated_that_is_too_small_to_be_estimated(kind: str, whole: bool) -> None:
    """A tenth of what the tolerance allows, or all of it for kernels that are not analytic (MATH 4.9)."""
    Z = torch.linspace(0, 2, 9, dtype=torch.float64)[:, None].expand(-1, 2)
    kernel, part = (gplens.kernels.RBF, 0.1) if kind == "analytic" else (gplens.kernels.Matern52, 1.0)
    gp = gplens.Posterior.exact(kernel(torch.ones(2, dtype=torch.float64)), Z, Z[:, 0].sin(), noise=0.1)
    rule = Adaptive() if whole else Adaptive(reach=0.05)
    for tolerance in (1e-4, 1e-6, 1e-9):
        e = gplens.explain(
            gp,
            Z[-1:] + torch.tensor([0.0, 0.3]),
            baseline=Z[0],
            target=gplens.targets.Latent(),
            rule=rule,
            tolerance=tolerance,
            support=False,
        )
        assert e.error is not None
        assert float(e.error.min()) >= 0.999 * part * tolerance * float(e.values.abs().max())
