"""Averages over a background to a tolerance of their own, also where its paths cancel (MATH 4.12)."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import generator, normal
from gplens import Posterior, explain
from gplens.baselines import Rows, Sample
from gplens.kernels import RBF, Matern32, Matern52
from gplens.links import Exp, Probit
from gplens.paths import averaging
from gplens.rules import Adaptive, GaussLegendre

FEATURES, INPUTS = 3, 4


def posterior(kernel: type, seed: int) -> Posterior:
    g = generator(seed)
    return Posterior.exact(
        kernel(torch.ones(FEATURES).double()), normal(g, 12, FEATURES), 2 * normal(g, 12), noise=0.05
    )


def background(x: Tensor, seed: int, *, cancelling: bool) -> Tensor:
    """Rows around all inputs, or in pairs on both sides of the first input, from where paths nearly cancel."""
    steps = normal(generator(seed + 900), 6, FEATURES) * (0.01 if cancelling else 1.0)
    return torch.cat([x[0] + steps, x[0] - steps]) if cancelling else 1.5 * torch.cat([steps, steps.flip(1)])


def averages_of_pairs(process: Posterior, x: Tensor, rows: Tensor, link: Exp | Probit) -> Tensor:
    """The definition, path by path, by a rule that knows no tolerance of an average."""
    pairs = Rows(rows.repeat(len(x), 1))
    e = explain(process, x.repeat_interleave(len(rows), 0), baseline=pairs, likelihood=link, tolerance=1e-12)
    return e.values.unflatten(0, (len(x), -1)).mean(1)


@pytest.mark.parametrize("kernel", [RBF, Matern32, Matern52], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("cancelling", [False, True], ids=["rows around", "cancelling"])
def test_true_errors_are_below_the_stated_ones(kernel: type, cancelling: bool) -> None:
    for seed in range(3):
        process, x = posterior(kernel, seed), normal(generator(seed + 50), INPUTS, FEATURES)
        link, rows = (Exp(), Probit())[seed % 2], background(x, seed, cancelling=cancelling)
        e = explain(process, x, baseline=Sample(rows), likelihood=link)
        exact = averages_of_pairs(process, x, rows, link)
        true, scale = (e.values - exact).abs(), exact.abs().amax(1, keepdim=True)
        assert e.converged is not None
        assert bool(e.converged.all())
        assert e.error is not None
        assert (true <= e.error + 1e-13 * scale).all(), f"seed {seed}"
        assert (true <= 1e-6 * torch.maximum(scale, (e.prediction - e.baseline_prediction).abs()[:, None])).all()


def test_only_paths_that_matter_are_integrated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an average that is far smaller than its paths; those of the other inputs are left as they are."""
    process, x = posterior(Matern52, 3), normal(generator(53), INPUTS, FEATURES)
    chosen: list[Tensor] = []
    mattering = averaging._mattering

    def spy(*arguments: object) -> Tensor:
        chosen.append(mattering(*arguments))  # type: ignore[arg-type]
        return chosen[-1]

    monkeypatch.setattr(averaging, "_mattering", spy)
    explain(process, x, baseline=Sample(background(x, 3, cancelling=True)), likelihood=Exp())
    assert 0 < int(chosen[0][0].sum()) <= 12
    assert not chosen[0][1:].any()


def test_a_rule_without_a_tolerance_is_averaged_once() -> None:
    process, x = posterior(RBF, 0), normal(generator(50), INPUTS, FEATURES)
    rows = background(x, 0, cancelling=True)
    fixed, adaptive = (
        explain(process, x, baseline=Sample(rows), likelihood=Exp(), rule=rule)
        for rule in (GaussLegendre(64), Adaptive())
    )
    torch.testing.assert_close(fixed.values, adaptive.values, rtol=0, atol=1e-6 * float(fixed.values.abs().max()))
    assert fixed.nodes.tolist() == [64 * len(rows)] * INPUTS
