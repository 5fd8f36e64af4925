"""Blocks of rows on threads: the same results in the same order, and no setting of torch changed."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from conformance.zoo import generator, normal
from gplens import Posterior, explain
from gplens.kernels import Matern52
from gplens.lines.line import Scratch
from gplens.links import Exp
from gplens.paths.blocks import balanced, in_order
from gplens.processes import process


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def model() -> tuple[Posterior, Tensor]:
    g = generator(0)
    Z, X = normal(g, 20, 3), normal(g, 60, 3)
    scale = torch.ones(3, dtype=torch.float64)
    return Posterior.exact(Matern52(scale), Z, normal(g, 20), noise=0.1), X


@pytest.mark.usefixtures("two_threads")
def test_values_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, X = model()
    whole = explain(posterior, X, baseline=0.0, likelihood=Exp())
    monkeypatch.setattr(process, "BLOCK", 2**18)
    parts = explain(posterior, X, baseline=0.0, likelihood=Exp())
    torch.testing.assert_close(parts.values, whole.values, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(parts.prediction, whole.prediction, rtol=1e-12, atol=1e-12)
    assert torch.equal(parts.nodes, whole.nodes)


@pytest.mark.parametrize(("rows", "block", "threads"), [(64, 13, 2), (5, 4, 2), (100, 7, 3), (9, 8, 1), (3, 2, 4)])
def test_every_thread_has_equally_many_blocks(rows: int, block: int, threads: int) -> None:
    size = balanced(rows, block, threads)
    assert 1 <= size <= block
    assert -(-rows // size) <= -(-rows // (block * threads)) * threads


def test_results_come_in_order_with_memory_of_their_own() -> None:
    def square(number: int, scratch: Scratch) -> Tensor:
        assert not torch.is_grad_enabled()
        return scratch.empty((1000,)).fill_(number).square().sum()

    squares = [float(result) for result in in_order(square, range(30), threads=3)]
    assert squares == [1000.0 * number**2 for number in range(30)]


def test_an_error_on_a_thread_is_raised() -> None:
    def fails(number: int, scratch: Scratch) -> int:
        if number == 5:
            raise ArithmeticError("expected a number other than 5, got 5.")
        return number

    with pytest.raises(ArithmeticError, match="5"):
        list(in_order(fails, range(30), threads=2))
