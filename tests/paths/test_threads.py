"""Blocks of rows and threads of torch: neither changes the result, and no thread or setting is left behind."""

import threading
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from conformance.zoo import generator, normal
from gplens import Posterior, explain
from gplens.kernels import Matern52
from gplens.links import Exp
from gplens.processes import process, radial_posteriors


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
@pytest.mark.parametrize("room", [(process, "BLOCK", 2**18), (radial_posteriors, "CHUNK", 2**9)], ids=["rows", "parts"])
def test_values_do_not_depend_on_blocks(room: tuple[object, str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, X = model()
    whole = explain(posterior, X, baseline=0.0, likelihood=Exp())
    monkeypatch.setattr(*room)
    threads = threading.active_count()
    parts = explain(posterior, X, baseline=0.0, likelihood=Exp())
    assert threading.active_count() == threads
    torch.testing.assert_close(parts.values, whole.values, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(parts.prediction, whole.prediction, rtol=1e-12, atol=1e-12)
    assert torch.equal(parts.nodes, whole.nodes)
