"""Results do not depend on how rows are cut into blocks, nor on their order."""

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, KernelCase, fitted, generator, normal, rows
from gplens import Stack
from gplens.baselines import Rows
from gplens.likelihood import Likelihood
from gplens.links import Sigmoid, Softmax
from gplens.processes import process

CASES = [KERNELS[name] for name in ("rbf", "matern32", "autograd")]


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("background", [False, True], ids=["own baselines", "a background"])
def test_results_do_not_depend_on_the_size_of_blocks(
    case: KernelCase, background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior = Stack((fitted(case, 0)[0], fitted(case, 1)[0]))
    X, X0 = rows(0, 3)
    baseline = gplens.baselines.Sample(X0) if background else Rows(X0)
    whole = gplens.explain(posterior, X, baseline=baseline, likelihood=Sigmoid())
    monkeypatch.setattr(process, "BLOCK", 1)  # one row at a time
    pieces = gplens.explain(posterior, X, baseline=baseline, likelihood=Sigmoid())
    for name in ("values", "prediction", "baseline_prediction"):
        torch.testing.assert_close(getattr(pieces, name), getattr(whole, name), rtol=1e-12, atol=1e-12)
    assert torch.equal(pieces.nodes, whole.nodes)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_do_not_depend_on_the_order_of_rows(case: KernelCase) -> None:
    posterior, _ = fitted(case, 2)
    X, X0 = rows(2, 6)
    order = torch.randperm(6, generator=generator(0))
    straight = gplens.explain(posterior, X, baseline=Rows(X0), likelihood=Sigmoid())
    shuffled = gplens.explain(posterior, X[order], baseline=Rows(X0[order]), likelihood=Sigmoid())
    torch.testing.assert_close(shuffled.values, straight.values[order], rtol=1e-12, atol=1e-13)


def test_a_row_alone_is_as_it_is_among_others() -> None:
    posterior, _ = fitted(KERNELS["matern52"], 3)
    X, _ = rows(3, 4)
    x0 = normal(generator(5), 4)
    together = gplens.explain(posterior, X, baseline=x0, likelihood=Sigmoid())
    for i in range(4):
        alone = gplens.explain(posterior, X[i : i + 1], baseline=x0, likelihood=Sigmoid())
        torch.testing.assert_close(alone.values[0], together.values[i], rtol=1e-12, atol=1e-13)
        assert int(alone.nodes) == int(together.nodes[i])


def test_class_probabilities_do_not_depend_on_their_neighbours() -> None:
    """Elements with similar grids share their nodes: those of the kind of grid, not of whichever elements there are."""
    stack = Stack(tuple(fitted(KERNELS["rbf"], seed)[0] for seed in (31, 32, 33)))
    X, X0 = rows(31, 12)
    X, X0, likelihood = 3 * X, X0, Likelihood("softmax", Softmax())
    together = gplens.explain(stack, X, baseline=Rows(X0), likelihood=likelihood)
    for i in (0, 5, 11):
        alone = gplens.explain(stack, X[i : i + 1], baseline=X0[i : i + 1], likelihood=likelihood)
        torch.testing.assert_close(alone.values[0], together.values[i], rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(alone.prediction[0], together.prediction[i], rtol=1e-12, atol=1e-12)
