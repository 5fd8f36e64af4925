"""Sizes of jointly Gaussian attributions against quadrature and draws, and the results that carry names."""

from itertools import pairwise

import numpy as np
import pandas
import polars
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm
from torch import Tensor

import gplens
from conformance.zoo import KERNELS, fitted, generator, normal, rows
from gplens import Diagonal, Explanation, Full, Samples, Stack
from gplens.baselines import Rows
from gplens.explanation.sizes import probability_larger, rank_probabilities
from gplens.links import Exp, Identity, Link
from gplens.uncertainty import Uncertainty
from messages import naming

NAMES = ("a", "b", "c", "d")


def by_quadrature(mean: Tensor, C: Tensor) -> float:
    """P(|a| > |b|) = int N(b) P(|a| > |b| given b) db, by scipy."""
    (a, b), sd = mean.tolist(), float(C[1, 1]) ** 0.5
    slope = float(C[0, 1] / C[1, 1])
    rest = max(float(C[0, 0] - slope * C[0, 1]), 0.0) ** 0.5

    def given_b(z: float) -> float:
        at_b = b + sd * z
        m = a + slope * (at_b - b)
        return norm.pdf(z) * (norm.sf(abs(at_b), m, rest) + norm.cdf(-abs(at_b), m, rest))

    edges = sorted({-12.0, 12.0, *[z for z in (-b / sd,) if abs(z) < 12]})
    return sum(quad(given_b, low, high, epsabs=1e-10, limit=400)[0] for low, high in pairwise(edges))


@settings(max_examples=10, deadline=None)
@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(0.1, 3), st.floats(0.1, 3), st.floats(-0.95, 0.95))
def test_the_probability_of_a_larger_size_is_the_integral(a: float, b: float, s: float, t: float, r: float) -> None:
    mean, C = torch.tensor([a, b]).double(), torch.tensor([[s * s, r * s * t], [r * s * t, t * t]]).double()
    assert float(probability_larger(mean, C)) == pytest.approx(by_quadrature(mean, C), abs=1e-8)
    both = probability_larger(mean, C) + probability_larger(mean.flip(0), C.flip(0, 1))
    assert float(both) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    ("mean", "C", "expected"),
    [
        ([2.0, 1.0], [[0.0, 0.0], [0.0, 0.0]], 1.0),  # both certain
        ([1.0, -1.0], [[0.0, 0.0], [0.0, 0.0]], 0.0),  # a tie is not larger
        ([0.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], 1.0),  # a feature that does not matter
        ([0.0, 0.0], [[0.0, 0.0], [0.0, 1.0]], 0.0),
        ([0.0, 1.0], [[1.0, 0.0], [0.0, 0.0]], 2 * norm.sf(1.0)),  # |a| > 1
        ([1.0, 0.0], [[0.0, 0.0], [0.0, 4.0]], 2 * norm.cdf(0.5) - 1),  # |b| < 1
        ([0.5, -0.5], [[1.0, 1.0], [1.0, 1.0]], 0.5),  # b = a - 1: |a| > |a - 1| for a > 1/2, its mean
        ([1.0, 1.0], [[1.0, -1.0], [-1.0, 1.0]], 0.5),  # b = 2 - a
        ([0.0, 0.0], [[4.0, 0.0], [0.0, 1.0]], 2 / np.pi * np.arctan(2)),  # |a/b| > 1, a Cauchy variable
        ([0.0, 0.0], [[4.0, 2.0], [2.0, 1.0]], 1.0),  # a = 2 b
    ],
)
def test_limits_without_spread_or_with_one_degree_of_freedom(mean: list, C: list, expected: float) -> None:
    found = probability_larger(torch.tensor(mean).double(), torch.tensor(C).double())
    assert float(found) == pytest.approx(expected, abs=1e-12)


def test_ranks_of_gaussians_are_those_of_draws_within_the_stated_error() -> None:
    g = generator(4)
    root, mean = normal(g, 2, 4, 4), normal(g, 2, 4)
    shares, error = rank_probabilities(mean, root @ root.mT)
    assert 0 < error < 0.004
    draws = (mean[:, None] + normal(g, 2, 200_000, 4) @ root.mT).abs()
    for k in range(4):
        for r in range(4):
            counted = ((draws > draws[..., k : k + 1]).sum(2) == r).double().mean(1)
            assert float((shares[:, k, r] - counted).abs().max()) <= 4 * (error + 0.5 / 200_000**0.5)
    again, _ = rank_probabilities(mean, root @ root.mT)
    assert torch.equal(shares, again)
    one, none = rank_probabilities(mean[:, :1], torch.ones(2, 1, 1).double())
    assert torch.equal(one, torch.ones(2, 1, 1).double())
    assert none == 0


def asked(request: Uncertainty | bool | None, link: Link = Identity(), seed: int = 81) -> Explanation:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], seed), rows(seed, 2)
    return gplens.explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=request, feature_names=NAMES)


def test_true_is_enough_for_every_statistic() -> None:
    for link in (Identity(), Exp()):
        e = asked(True, link)
        assert e.std is not None
        low, high = e.interval(0.8)
        assert bool((low < high).all())
        assert e.probability_positive().shape == (2, 4)
        assert e.probability_larger("a", "b").shape == (2,)
        assert e.rank_probabilities().values.shape == (2, 4, 4)
        assert e.group({"two": ["a", "b"]}).std is not None
    assert asked(True).draws is None  # Gaussian: nothing is drawn
    assert asked(False).spread is None


def test_a_gaussian_needs_no_draws_and_agrees_with_them() -> None:
    exact, drawn = asked(Full()), asked(Samples(20_000, seed=1))
    larger, ranks = exact.probability_larger("b", "d"), exact.rank_probabilities()
    assert drawn.draws is not None
    sizes = drawn.draws.abs()
    counted = (sizes[..., 1] > sizes[..., 3]).double().mean(1)
    torch.testing.assert_close(larger, counted, rtol=0, atol=4 * 0.5 / 20_000**0.5)
    firsts = (sizes.argmax(2)[..., None] == torch.arange(4)).double().mean(1)
    torch.testing.assert_close(ranks.values[..., 0], firsts, rtol=0, atol=4 * (0.5 / 20_000**0.5 + ranks.error))
    torch.testing.assert_close(ranks.values.sum(-1), torch.ones(2, 4).double())
    assert torch.equal(drawn.probability_larger("b", "d"), larger)  # the covariance is the better source
    with pytest.raises(ValueError, match=naming("joint draws", "gplens.Full()", "these are")):
        asked(Diagonal()).probability_larger("a", "b")


def test_ranks_know_their_names() -> None:
    ranks = asked(True).rank_probabilities()
    frame = ranks.to_frame()
    assert list(frame.columns) == ["row", "feature", "rank", "probability"]
    chosen = frame[(frame["row"] == 1) & (frame["feature"] == "c") & (frame["rank"] == 2)]
    assert float(chosen["probability"].iloc[0]) == float(ranks.values[1, 2, 1])
    torch.testing.assert_close(ranks.among_first(2), ranks.values[..., :2].sum(-1))
    text = repr(ranks)
    assert all(name in text for name in (*NAMES, "rank 4", "input 0"))
    assert f"{float(ranks.values[0].max()):.3f}" in text
    with pytest.raises(ValueError, match=naming(5, 1, 4)):
        ranks.among_first(5)
    stack = Stack((fitted(KERNELS["rbf"], 81)[0], fitted(KERNELS["rbf"], 82)[0]))
    several = gplens.explain(stack, rows(81, 2)[0], baseline=0.1, likelihood=Identity(), uncertainty=True)
    assert several.rank_probabilities().to_frame()["output"].nunique() == 2
    assert "output 0" in repr(several.rank_probabilities())


def test_many_baselines_have_deviations_alone() -> None:
    """Through a link, a background of more than five rows is not drawn by uncertainty=True."""
    posterior, X = fitted(KERNELS["rbf"], 82)[0], rows(82, 1)[0]
    few, many = (
        gplens.explain(
            posterior, X, baseline=gplens.baselines.Sample(rows(83, s)[0]), likelihood=Exp(), uncertainty=True
        )
        for s in (2, 6)
    )
    assert few.draws is not None
    assert many.draws is None
    assert many.std is not None
    assert bool((many.std > 0).all())


def test_frames_have_intervals_and_signs_where_they_are_known() -> None:
    e = asked(True, Exp())
    frame = e.to_frame(level=0.5)
    low, high = e.interval(0.5)
    for name, tensor in (("lower", low), ("upper", high), ("probability_positive", e.probability_positive())):
        np.testing.assert_array_equal(frame[name].to_numpy().reshape(2, 4), tensor)
    assert "lower" not in asked(Diagonal(), Exp()).to_frame()
    assert "lower" in asked(Diagonal()).to_frame()


def test_the_text_says_what_follows_plus_minus() -> None:
    assert "+- 1 sd" in repr(asked(True))
    assert "+-" not in repr(asked(None))


def test_importance_says_what_it_knows() -> None:
    alone = asked(Full())
    importance = alone.importance()
    torch.testing.assert_close(importance.mean, alone.values.abs().mean(0))
    assert "without error bars" in repr(importance)
    assert list(importance.to_frame().columns) == ["feature", "mean"]
    for ask in (importance.interval, lambda: importance.probability_among_first(1), lambda: importance.expected):
        with pytest.raises(ValueError, match=naming("across_rows=True", "importance().mean")):
            ask()
    with pytest.raises(ValueError, match=naming("inputs", "none")):
        alone[:0].importance()
    one_input = asked(Samples(50, seed=0))[:1].importance()  # draws of one input are joint already
    assert one_input.draws is not None


def test_importance_of_draws_has_names_and_frames() -> None:
    e = asked(Samples(400, seed=0, across_rows=True), Exp())
    importance = e.importance()
    assert e.draws is not None
    sizes = e.draws.abs().mean(0)
    torch.testing.assert_close(importance.expected, sizes.mean(0))
    assert bool((importance.expected >= importance.mean - 4 * sizes.std(0) / 20).all())  # E |a| >= |E a|
    frame = importance.to_frame(level=0.5, first=2)
    low, high = importance.interval(0.5)
    np.testing.assert_array_equal(frame["lower"], low)
    np.testing.assert_array_equal(frame["upper"], high)
    assert float(frame["probability_among_first"].sum()) == pytest.approx(2.0)
    assert all(name in repr(importance) for name in (*NAMES, "90 % intervals", "P(first)"))
    with pytest.raises(ValueError, match=naming("level", 90.0)):
        importance.interval(90.0)


def test_frames_of_importance_and_ranks_are_of_the_library_of_the_inputs() -> None:
    (posterior, _), (X, _) = fitted(KERNELS["rbf"], 81), rows(81, 2)
    request = Samples(20, seed=0, across_rows=True)
    for library in (polars, pandas):
        frame = library.DataFrame(X.numpy(), **{"schema" if library is polars else "columns": list(NAMES)})
        e = gplens.explain(posterior, frame, baseline=0.0, likelihood=Exp(), uncertainty=request)
        assert isinstance(e.importance().to_frame(), library.DataFrame)
        assert isinstance(e.rank_probabilities().to_frame(), library.DataFrame)
