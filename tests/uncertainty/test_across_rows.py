"""Draws that are joint over inputs, against the joint distribution of f and its gradient on all paths at once."""

from math import sqrt
from typing import Any

import pytest
import torch
from torch import Tensor

import gplens
from conformance.zoo import KERNELS, G, fitted, generator, normal, rows
from gplens import Explanation, Functions, Samples, Stack, Transformed
from gplens.baselines import Rows
from gplens.links import Exp, Identity, Link, Probit, Softmax
from gplens.uncertainty import across_rows
from messages import naming
from oracles.error_bars import assert_mean, assert_moments, attribution_draws_of_rows, linear_moments_of_rows


def together(kernel: str, link: Link, count: int, **options: Any) -> tuple[Explanation, Any]:
    (posterior, dense), (X, X0) = fitted(KERNELS[kernel], 61), rows(61, 3)
    request = Samples(count, seed=0, across_rows=True)
    return gplens.explain(posterior, X, baseline=Rows(X0), likelihood=link, uncertainty=request, **options), dense


def draws_of(e: Explanation) -> Tensor:
    """(draws, inputs, ...)."""
    assert e.spread is not None
    assert e.spread.across_rows
    assert e.draws is not None
    return e.draws.transpose(0, 1)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_linear_attributions_have_the_exact_covariance_between_inputs(kernel: str) -> None:
    e, dense = together(kernel, Identity(), 8000)
    mean, C = linear_moments_of_rows(dense, e.inputs, e.baseline)
    torch.testing.assert_close(e.values.flatten(), mean, rtol=1e-6, atol=1e-8)
    assert_moments(draws_of(e).flatten(1), mean, C, errors=4.5)


@pytest.mark.parametrize("kernel", ["matern52", "matern32"])
def test_rough_functions_have_the_exact_covariance_between_inputs(kernel: str) -> None:
    """Within an input the naive rule meets the ridge of the kernel; there the exact deviations are the oracle."""
    e, dense = together(kernel, Identity(), 8000)
    drawn = draws_of(e)
    _, C = linear_moments_of_rows(dense, e.inputs, e.baseline)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        products = (drawn[:, i] - e.values[i])[:, :, None] * (drawn[:, j] - e.values[j])[:, None]
        assert_mean(products, C.unflatten(0, (3, 4)).unflatten(2, (3, 4))[i, :, j], errors=4.5)
    torch.testing.assert_close(drawn.std(0), e.std, rtol=4 / sqrt(2 * 8000), atol=1e-9)


@pytest.mark.parametrize("link", [Exp(), Probit()], ids=lambda link: type(link).__name__)
def test_attributions_through_links_are_those_of_joint_draws_of_the_process(link: Link) -> None:
    e, dense = together("rbf", link, 8000)
    ours = draws_of(e).flatten(1)
    naive = attribution_draws_of_rows(dense, G[type(link).__name__], e.inputs, e.baseline, 16_000, seed=5).flatten(1)
    for power in (lambda a: a, lambda a: (a - naive.mean(0))[:, :, None] * (a - naive.mean(0))[:, None]):
        mine, other = power(ours), power(naive)
        error = torch.hypot(mine.std(0) / sqrt(len(mine)), other.std(0) / sqrt(len(other)))
        assert bool(((mine.mean(0) - other.mean(0)).abs() <= 4.5 * error + 1e-9).all())


def test_the_mean_size_has_the_quantiles_of_joint_draws() -> None:
    """Draws that are independent from input to input give a narrower interval, which is wrong."""
    e, dense = together("rbf", Exp(), 8000)
    naive = attribution_draws_of_rows(dense, G["Exp"], e.inputs, e.baseline, 16_000, seed=6).abs().mean(1)
    importance = e.importance()
    for level, end in zip((0.05, 0.95), importance.interval(0.9), strict=True):
        share = (naive <= end).double().mean(0)
        assert float((share - level).abs().max()) <= 4 * sqrt(0.05 * 0.95 * (1 / 8000 + 1 / 16_000))
    first = (naive.argmax(1)[:, None] == torch.arange(4)).double().mean(0)
    torch.testing.assert_close(importance.probability_among_first(1), first, rtol=0, atol=4 * 0.5 * sqrt(3 / 16_000))


@pytest.mark.parametrize("kernel", ["rbf", "matern32"])
@pytest.mark.parametrize("link", [Identity(), Exp()], ids=lambda link: type(link).__name__)
def test_inputs_that_are_equal_have_equal_draws(kernel: str, link: Link) -> None:
    (posterior, _), (X, X0) = fitted(KERNELS[kernel], 62), rows(62, 2)
    request = Samples(200, seed=0, across_rows=True)
    e = gplens.explain(posterior, X[[0, 1, 0]], baseline=Rows(X0[[0, 1, 0]]), likelihood=link, uncertainty=request)
    drawn = draws_of(e)
    torch.testing.assert_close(drawn[:, 0], drawn[:, 2], rtol=0, atol=1e-5 * float(drawn.std()))
    assert float((drawn[:, 0] - drawn[:, 1]).abs().max()) > 0.1 * float(drawn.std())
    alone = Samples(6000, seed=0, across_rows=True)
    once = gplens.explain(posterior, X[:1], baseline=Rows(X0[:1]), likelihood=link, uncertainty=alone).importance()
    twice = gplens.explain(
        posterior, X[[0, 0]], baseline=Rows(X0[[0, 0]]), likelihood=link, uncertainty=alone
    ).importance()
    for a, b in zip(once.interval(), twice.interval(), strict=True):
        # Other draws, whose quantiles differ by 2 % in the mean and 6 % at most over 24 seeds and cases.
        torch.testing.assert_close(a, b, rtol=0, atol=0.15 * float(once.interval()[1].max()))


@pytest.mark.slow
def test_deviations_are_the_exact_ones_and_draws_have_them() -> None:
    """Of two classes that share the latent functions, in transformed inputs."""
    stack = Stack((fitted(KERNELS["rbf"], 63)[0], fitted(KERNELS["matern52"], 64)[0]))
    process = Transformed(stack, torch.diag(torch.tensor([0.5, 1.0, 1.0, 2.0]).double()), torch.zeros(4).double())
    X, X0 = rows(63, 2)
    request = Samples(6000, seed=0, across_rows=True)
    e = gplens.explain(process, X, baseline=Rows(X0), likelihood=Softmax(), uncertainty=request)
    assert e.std is not None
    assert e.draws is not None
    assert e.draws.shape == (2, 6000, 2, 4)
    torch.testing.assert_close(e.draws.std(1), e.std, rtol=0.06, atol=1e-4)
    torch.testing.assert_close(e.draws[:, :, 0], -e.draws[:, :, 1], rtol=0, atol=1e-9)  # probabilities add up to one


def test_groups_and_slices_of_joint_draws() -> None:
    e, _ = together("rbf", Exp(), 50)
    grouped = e.group({"two": ["x0", "x1"]})
    assert grouped.importance().feature_names == ("two", "x2", "x3")
    assert grouped.draws is not None
    torch.testing.assert_close(grouped.draws[..., 0], e.draws[..., :2].sum(-1))  # pyright: ignore[reportOptionalSubscript]
    assert e[:2].importance().inputs == 2
    assert e[:2].importance().draws is not None


def test_what_cannot_be_drawn_together_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=naming("across_rows=True", "joint=False")):
        Samples(10, 0, joint=False, across_rows=True)
    with pytest.raises(TypeError, match=naming("across_rows", 1)):
        Samples(10, 0, across_rows=1)  # pyright: ignore[reportArgumentType]
    functions = Functions(lambda x: x.sum(1), lambda x: 1 + x[:, 0] ** 2, features=4)
    X = normal(generator(1), 3, 4)
    request = Samples(10, 0, across_rows=True)
    with pytest.raises(ValueError, match=naming("across_rows=True", "Functions", "Samples(count, seed)")):
        gplens.explain(functions, X, baseline=0.0, likelihood=Identity(), uncertainty=request)
    monkeypatch.setattr(across_rows, "LARGEST", 20)
    with pytest.raises(ValueError, match=naming(20, 3, "random sample")):
        together("rbf", Exp(), 10)
    monkeypatch.setattr(across_rows, "MOST", 30)
    with pytest.raises(ValueError, match=naming(30, 3, "random sample")):
        together("rbf", Identity(), 10)
