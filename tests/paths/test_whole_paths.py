"""Whole paths by one rule: interpolated latent functions, and errors told by moments that have to add up."""

import numpy as np
import pytest
import torch
from numpy.polynomial import legendre
from scipy.integrate import quad
from torch import Tensor

import gplens
from conformance.zoo import generator, normal
from gplens import Posterior, Stack, explain
from gplens.baselines import Rows
from gplens.expectations.expectation import ExpectedLink
from gplens.kernels import RBF, Matern52
from gplens.likelihood import Likelihood
from gplens.lines.forms import Form
from gplens.lines.line import Line, Scratch
from gplens.links import Affine, Exp, Identity, Probit, Softmax
from gplens.paths.integrand import Question
from gplens.paths.many_features import _directions, sums_of_many_features
from gplens.paths.path_psi import NodeWeights
from gplens.paths.path_rules import LAST, MOMENTS, SIZES, next_sizes, path_rule
from gplens.paths.whole_paths import GROWTH, MARGIN, WholeLines, WholePaths, first_sizes, whole_sums
from gplens.rules import GaussLegendre


def posterior(kernel: type, seed: int = 0, features: int = 3) -> Posterior:
    g = generator(seed)
    Z = normal(g, 12, features)
    return Posterior.exact(kernel(torch.ones(features).double()), Z, 2 * normal(g, 12), noise=0.05)


def question(process: Posterior) -> Question:
    return Question(process, ExpectedLink((Exp(),)), (0,), 1e-6)


def test_polynomials_are_interpolated_exactly() -> None:
    """(4.15) for every degree below the number of nodes; the ends are carried over as they are."""
    rule = path_rule(9, 24, 2)
    for degree in range(9):
        values = torch.as_tensor(legendre.legval(2 * rule.t.numpy() - 1, np.eye(9)[degree]))
        expected = legendre.legval(2 * rule.s.numpy() - 1, np.eye(9)[degree])
        np.testing.assert_allclose(values @ rule.between, expected, atol=1e-13)


def test_weights_are_those_of_products_with_interpolated_functions() -> None:
    """(4.16) against scipy: psi is any smooth function, the other factor a polynomial of the nodes' degree."""
    rule = path_rule(7, 30, 1)
    weights = (torch.exp(rule.s) @ rule.spread).unflatten(0, (MOMENTS + LAST, -1))
    for j in range(MOMENTS):

        def integrand(t: float, j: int = j) -> float:
            return float(np.exp(t) * t**5 * legendre.legval(2 * t - 1, np.eye(MOMENTS)[j]))

        assert float(weights[j] @ rule.t**5) == pytest.approx(quad(integrand, 0, 1)[0], abs=1e-13)


@pytest.mark.parametrize("shared", [True, False], ids=["one baseline", "own baselines"])
def test_the_moments_of_the_change_add_up(shared: bool) -> None:
    """(4.17) with many nodes: the stated error is rounding, and so is the true one."""
    process, X = posterior(RBF), normal(generator(1), 5, 3)
    x0 = normal(generator(2), 1 if shared else 5, 3)
    d = torch.cat([X - x0, torch.zeros(1, 3).double()]) if shared else X - x0
    sums = whole_sums(question(process), WholeLines(x0, d, last=shared), 46, 1.0, Scratch())
    exact = explain(process, X, baseline=Rows(x0.expand(5, -1)), likelihood=Exp(), rule=GaussLegendre(64))
    scale = exact.values.abs().amax()
    assert float(sums.error.max()) < 1e-11 * scale
    torch.testing.assert_close(sums.values[:, 0], exact.values, rtol=0, atol=1e-12 * float(scale))


@pytest.mark.parametrize(("kernel", "oracle"), [(RBF, 1e-10), (Matern52, 1e-6)], ids=["RBF", "Matern52"])
def test_stated_errors_are_above_true_ones_with_any_number_of_nodes(kernel: type, oracle: float) -> None:
    """Also with far too few of them, against 200 Gauss-Legendre nodes of a rule without an estimate.

    If completeness alone told the error, the true one would be 74 times as large for seed 18, and 18 times for 28.
    """
    for seed in (*range(20), 28):
        process, X, x0 = posterior(kernel, seed), 2 * normal(generator(seed + 50), 8, 3), normal(generator(seed), 1, 3)
        exact = explain(process, X, baseline=x0[0], likelihood=Exp(), rule=GaussLegendre(200), support=False).values
        d = torch.cat([X - x0, torch.zeros(1, 3).double()])
        for count in SIZES[:6]:
            sums = whole_sums(question(process), WholeLines(x0, d, last=True), count, 1.0, Scratch())
            true = (sums.values[:, 0] - exact).abs().amax(1)
            assert (true <= sums.error[:, 0] + oracle * exact.abs().amax(1)).all(), f"seed {seed}, {count} nodes"


def test_features_that_share_a_gap_state_less_than_all_of_it_and_more_than_their_errors() -> None:
    """Thirty features of one size each have a part of the gap; with a lengthscale that differs one has most of it."""
    parts = []
    for seed in range(12):
        g = generator(seed)
        lengthscale = torch.full((30,), 5.0).double()
        lengthscale[0] = 5.0 if seed % 2 else 0.5
        process = Posterior.exact(RBF(lengthscale), normal(g, 20, 30), 2 * normal(g, 20), noise=0.05)
        x0, X = normal(g, 1, 30), normal(g, 4, 30)
        exact = explain(process, X, baseline=x0[0], likelihood=Exp(), rule=GaussLegendre(100), support=False).values
        for count in (6, 8, 10):
            sums = whole_sums(question(process), WholeLines(x0, X - x0), count, 1.0, Scratch())
            true = (sums.values[:, 0] - exact).abs().amax(1)
            gap = (exact.sum(1) - sums.values[:, 0].sum(1)).abs()
            seen = gap > 1e-9 * exact.abs().amax(1)
            assert (true <= sums.error[:, 0] + 1e-12 * exact.abs().amax(1)).all(), f"seed {seed}, {count} nodes"
            parts.append((sums.error[:, 0] / gap)[seen])
    assert float(torch.cat(parts).min()) < MARGIN


def test_a_feature_that_moves_alone_has_all_of_the_gap_whatever_its_random_numbers_are() -> None:
    """Its combinations are as small as its random numbers, and would tell that it has a small part of the gap."""
    features = 300
    smallest = int(_directions(features)[1:].abs().amax(0).argmin())
    for seed in range(6):
        g = generator(seed)
        Z, x0, d = normal(g, 12, features), normal(g, 1, features), torch.zeros(3, features).double()
        Z[:, :smallest], Z[:, smallest + 1 :] = x0[:, :smallest], x0[:, smallest + 1 :]
        d[:, smallest] = torch.tensor([3.0, 4.0, 5.0])
        process = Posterior.exact(RBF(torch.ones(features).double()), Z, 2 * normal(g, 12), noise=0.05)
        for count in (6, 8, 10):
            sums = whole_sums(question(process), WholeLines(x0, d), count, 1.0, Scratch())
            true = (sums.values[:, 0, smallest] - (sums.end - sums.start)[:, 0]).abs()
            assert (true <= sums.error[:, 0] + 1e-12 * sums.end[:, 0].abs()).all(), f"seed {seed}, {count} nodes"


def test_growth_is_that_of_errors_of_gauss_with_legendre_polynomials() -> None:
    """The ratios of Gauss's errors for 1 / (x - pole) times P_j, with the pole on the ellipse of radius 2."""
    x, w = legendre.leggauss(12)
    pole = (2 + 1 / 2) / 2
    errors = []
    for j in range(MOMENTS):
        P = np.eye(MOMENTS)[j]
        exact = quad(lambda t, P=P: legendre.legval(t, P) / (t - pole), -1, 1, epsabs=1e-15)[0]
        errors.append(abs(float(w @ (legendre.legval(x, P) / (x - pole))) - exact))
    ratios = np.array(errors) / errors[0]
    assert (ratios <= 1.3 * GROWTH[:, 0].numpy()).all()
    assert (ratios >= GROWTH[:, 0].numpy() / 2).all()


def test_a_steep_link_takes_nodes_of_psi_and_few_of_the_kernel() -> None:
    process, x0 = posterior(RBF), torch.zeros(3).double()
    X = normal(generator(3), 10, 3)
    scaled = Posterior(process.kernel, process.Z, 8 * process.beta, process.A)  # the mean moves by 8 times as much
    flat, steep = (explain(p, X, baseline=x0, likelihood=Probit(), support=False) for p in (process, scaled))
    exact = explain(scaled, X, baseline=x0, likelihood=Probit(), rule=GaussLegendre(400), support=False)
    assert bool(steep.converged.all())
    assert float((steep.values - exact.values).abs().max()) < 1e-6
    assert float(steep.nodes.double().median()) <= 3 * float(flat.nodes.double().median())


def test_classes_of_many_features_are_as_exact_as_they_say() -> None:
    """Beyond 16 features random combinations are looked at."""
    stack = Stack(tuple(posterior(RBF, seed, 40) for seed in range(3)))
    X, likelihood = 0.3 * normal(generator(4), 6, 40), Likelihood("softmax", Softmax())
    ours = explain(stack, X, baseline=0.0, likelihood=likelihood, support=False)
    exact = explain(stack, X, baseline=0.0, likelihood=likelihood, rule=GaussLegendre(64), support=False)
    assert bool(ours.converged.all())
    assert ((ours.values - exact.values).abs() <= ours.error + 1e-9).all()


def test_forms_are_contracted_as_they_are_evaluated() -> None:
    g = generator(5)
    C, R, y, S, D, d, P = (
        normal(g, *shape) for shape in ((2, 4, 3), (3, 7), (2, 7), (3, 7), (2, 4, 7), (2, 7), (7, 2))
    )
    form, every = Form(((C, R),), ((C, S, y),), (D,)), C @ R + torch.einsum("bps,sk,bk->bpk", C, S, y) + D
    torch.testing.assert_close(form.evaluate(torch.empty(2, 4, 7).double()), every, rtol=1e-12, atol=1e-12)
    expected = torch.einsum("bpk,bk,ks->bps", every, d, P)
    torch.testing.assert_close(form.contracted(d, P, 4), expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(form.channels(slice(1, 3)).contracted(d, P, 2), expected[:, 1:3], rtol=1e-12, atol=1e-12)
    assert form.channels(slice(0, 0)).contracted(d, P, 0).shape == (2, 0, 2)
    assert (Form().contracted(d, P, 4) == torch.zeros(2, 4, 2)).all()


def test_derivatives_in_some_directions_are_differences_of_the_moments() -> None:
    """(4.18a) for all latent functions, with directions that are zero beside some columns."""
    g = generator(8)
    process, columns = Stack(tuple(posterior(RBF, seed, 6) for seed in range(2))), torch.tensor([1, 2, 5])
    X, step, V = normal(g, 3, 6), 1e-5, normal(g, 3, 2, 3)
    line = Line(torch.zeros(1, 6).double(), X, torch.tensor([0.2, 0.7, 1.0]).double().expand(3, -1))
    slopes = process.along(line).slopes(V, columns, variances=True)
    assert slopes is not None
    everywhere = torch.zeros(3, 2, 6).double().index_copy_(2, columns, V)
    for direction in range(2):
        up, down = (
            process.along(Line(x0, X, line.t)) for x0 in (sign * step * everywhere[:, direction] for sign in (1, -1))
        )
        for found, high, low in zip(slopes, (up.m, up.v), (down.m, down.v), strict=True):
            torch.testing.assert_close(found[..., direction], (high - low) / (2 * step), rtol=1e-7, atol=1e-7)
    by_m, nothing = process.along(line).slopes(V, columns, variances=False) or (None, None)
    torch.testing.assert_close(by_m, slopes[0])
    assert nothing is None


@pytest.mark.parametrize("moving", [3, 18, 20], ids=["few", "most", "all"])
def test_sums_of_many_features_are_those_of_every_feature(moving: int) -> None:
    """(4.16) where products are restricted to what moves, and where derivatives in directions replace weights."""
    stack = Stack(tuple(posterior(RBF, seed, 20) for seed in range(2)))
    d = torch.zeros(3, 20).double()
    d[:, 20 - moving :] = 0.4 * normal(generator(9), 3, moving)
    marginals = stack.along(Line(normal(generator(10), 1, 20), d, torch.linspace(0, 1, 4).double().expand(3, -1)))
    weights = NodeWeights(*(normal(generator(seed), 3, MOMENTS + LAST, 2, 2, 4) for seed in (11, 12)))
    every = weights.sums(marginals, d)
    values, totals, size = sums_of_many_features(weights, marginals, d)
    torch.testing.assert_close(values, every[:, 0], rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(totals, every.sum(3), rtol=1e-10, atol=1e-12)
    combined = every[:, MOMENTS:] @ _directions(20)[1:].mT
    torch.testing.assert_close(size, combined.abs().amax((1, 3)), rtol=1e-10, atol=1e-12)
    assert (values[..., : 20 - moving] == 0).all()


def test_longer_paths_and_smaller_tolerances_have_more_nodes() -> None:
    lengths = torch.tensor([0.5, 1.5, 2.0, 4.0, 100.0]).double()
    first: dict[float, Tensor] = {tol: first_sizes(lengths, tol, 6.0, smooth=False) for tol in (1e-3, 1e-6, 1e-9)}
    assert (first[1e-6].diff() > 0).all()
    assert int(first[1e-6][-1]) == len(SIZES)  # panels
    assert (first[1e-9] >= first[1e-6]).all()
    assert (first[1e-3] <= first[1e-6]).all()
    more = next_sizes(torch.tensor([3, 3, 3]), torch.tensor([[1e-5], [1e-3], [0.5]]).double(), torch.full((3, 1), 1e-6))
    assert SIZES[int(more[0])] < 2 * SIZES[3]
    assert int(more[1]) > int(more[0])
    assert int(more[2]) == len(SIZES)


def test_features_that_cancel_among_many_are_noticed_by_random_combinations() -> None:
    """f = g(x1, x2) - g(x2, x1) on the diagonal, beside 18 features that do not move: all sums are zero."""
    g = generator(6)
    half = torch.rand(4, 2, generator=g).double()
    Z = torch.cat([torch.cat([half, half.flip(1)]), torch.zeros(8, 18).double()], dim=1)
    beta = normal(g, 4)
    kernel = Matern52(torch.full((20,), 0.3).double())
    process = Posterior(kernel, Z, torch.cat([beta, -beta]), torch.zeros(8, 8).double())
    x0, d = torch.zeros(1, 20).double(), torch.zeros(1, 20).double()
    d[0, :2] = 1
    linear = Question(process, ExpectedLink((Identity(),)), (0,), 1e-6)
    truth = whole_sums(linear, WholeLines(x0, d), SIZES[-1], 1.0, Scratch()).values
    for count in SIZES[:3]:
        sums = whole_sums(linear, WholeLines(x0, d), count, 1.0, Scratch())
        assert float((sums.values - truth).abs().max()) > 1e-9
        assert ((sums.values - truth).abs().amax(2) <= sums.error).all()


def settled(asked: Question) -> WholePaths:
    """Twelve paths from one baseline, three of which the first rule does not settle."""
    X, x0 = 1.5 * normal(generator(7), 12, 3), torch.zeros(1, 3).double()
    paths = WholePaths(asked, x0, torch.cat([X, x0]), asked.tolerance, Scratch(), None)
    return paths.run(X.norm(dim=1), 6.0)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**40], ids=["small", "large"])
def test_units_do_not_decide_how_many_nodes_a_path_takes(unit: float) -> None:
    """An error that is allowed absolutely would settle small targets at once, and large ones never."""
    process = posterior(RBF)
    steep = Posterior(process.kernel, process.Z, 3 * process.beta, process.A)
    base, other = (
        settled(Question(steep, ExpectedLink((Affine(Exp(), scale, 0.0),)), (0,), 1e-6)) for scale in (1.0, unit)
    )
    assert len(base.nodes.unique()) > 3
    assert torch.equal(base.nodes, other.nodes)
    assert bool(other.settled.all())
    torch.testing.assert_close(
        other.values / unit, base.values, rtol=1e-12, atol=1e-12 * float(base.values.abs().max())
    )


def test_paths_are_not_refined_below_the_error_of_the_target_itself() -> None:
    """A softmax that is computed to 1e-4 may be off by as much at every node, however many nodes there are."""
    classes = Stack(tuple(posterior(RBF, seed) for seed in range(3)))
    paths = settled(Question(classes, Softmax(tolerance=1e-4), (0, 1, 2), 1e-6))
    assert bool(paths.settled.all())
    assert int(paths.nodes.max()) <= SIZES[1]


@pytest.mark.parametrize(("kernel", "least"), [(RBF, 0.1), (Matern52, 1.0)])
def test_no_error_is_stated_below_what_estimates_can_tell(kernel: type, least: float) -> None:
    """A tenth of what the tolerance allows, all of it for kernels that are not analytic; zero where nothing moves."""
    g = generator(3)
    X, x0 = 0.3 * normal(g, 20, 3), torch.zeros(3).double()
    X[:, 2] = 0.0
    for tolerance in (1e-6, 1e-4):
        e = explain(posterior(kernel), X, baseline=x0, likelihood=Exp(), tolerance=tolerance)
        assert e.error is not None
        size = torch.maximum((e.prediction - e.baseline_prediction).abs(), e.values.abs().amax(1))
        assert (e.error[:, :2] >= 0.999 * least * tolerance * size[:, None]).all()
        assert (e.error[:, 2] == 0).all()


def test_inputs_of_many_features_at_their_baseline_get_zeros() -> None:
    """No feature moves on any path of the block."""
    g = torch.Generator().manual_seed(0)
    Z, y = torch.randn(8, 20, generator=g).double(), torch.randn(8, generator=g).double()
    gp = gplens.Posterior.exact(gplens.kernels.RBF(torch.full((20,), 4.0).double()), Z, y, noise=0.1)
    explanation = gplens.explain(gp, Z[:2], baseline=gplens.baselines.Rows(Z[:2]), likelihood=gplens.links.Exp())
    assert explanation.values.shape == (2, 20)
    assert not explanation.values.any()
    assert not explanation.gap.any()
