"""What grows with what, counted rather than timed: elements of the tensors that the engine makes."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile
from torch.utils._python_dispatch import TorchDispatchMode

from conformance.zoo import generator, normal
from gplens import Posterior, Stack, explain, read
from gplens.kernels import RBF, Matern52, Scale
from gplens.likelihood import Likelihood
from gplens.lines import line
from gplens.links import Exp, Identity, Link, Softmax
from gplens.processes import process
from gplens.rules import Adaptive, GaussLegendre, RiemannRight, Rule
from gplens.targets import EpistemicVariance, Latent, Target


class Count(TorchDispatchMode):
    """Multiply-adds of matrix products, elements written by everything else, and the largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.products, self.written, self.largest = 0, 0, 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else (result,):
            if isinstance(tensor, Tensor):
                self.largest = max(self.largest, tensor.untyped_storage().nbytes() // tensor.element_size())
                self.written += tensor.numel()
        if function.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.bmm):
            self.products += result.numel() * args[0].shape[-1]
        return result


def counted(work: Callable[[], object]) -> Count:
    """Tensors are counted one by one, not as parts of one piece of memory."""
    with pytest.MonkeyPatch.context() as patch, Count() as count:
        patch.setattr(line, "SIZE", 0)
        work()
    return count


def model(n: int, d: int, kernel: type = RBF) -> tuple[Posterior, Tensor, Tensor]:
    g = generator(n + d)
    Z, scaled = normal(g, n, d), Scale(kernel(torch.full((d,), d**0.5).double()), torch.tensor(1.0).double())
    return Posterior.exact(scaled, Z, normal(g, n), noise=0.1), normal(g, 4, d), normal(g, d)


def products(n: int, d: int, nodes: int, likelihood: Link | None = Exp(), target: Target | None = None) -> Count:
    posterior, X, x0 = model(n, d)
    rule = GaussLegendre(nodes)
    options = {"likelihood": likelihood} if target is None else {"target": target}
    explain(posterior, X[:1], baseline=x0, rule=rule, **options)  # A of the posterior is formed on first use
    return counted(lambda: explain(posterior, X, baseline=x0, rule=rule, support=False, **options))


@pytest.mark.parametrize("kernel", [RBF, Matern52], ids=lambda kernel: kernel.__name__)
def test_nodes_and_features_never_multiply(kernel: type) -> None:
    """From 8 to 64 nodes the work over 2,000 features is the same: the second difference of the cost is zero."""
    cost = {(d, q): products(10, d, q).products for d in (20, 2000) for q in (8, 64)}
    cross = (cost[2000, 64] - cost[2000, 8]) - (cost[20, 64] - cost[20, 8])
    assert cross <= 0.01 * cost[2000, 8]
    written = {(d, q): products(10, d, q).written for d in (20, 2000) for q in (8, 64)}
    assert (written[2000, 64] - written[2000, 8]) - (written[20, 64] - written[20, 8]) <= 0.01 * written[2000, 8]


def test_the_cost_is_linear_in_the_features() -> None:
    few, many = products(10, 1_000, 16), products(10, 8_000, 16)
    assert many.products <= 8.1 * few.products
    assert many.written <= 8.1 * few.written


def test_no_tensor_has_nodes_times_features() -> None:
    assert products(10, 5_000, 64).largest < 64 * 5_000


@pytest.mark.parametrize("target", [Latent(), None], ids=["latent target", "identity link"])
def test_a_mean_never_touches_the_variance(target: Target | None) -> None:
    """No product of n^2 for each node."""
    n, q = 200, 32
    mean = products(n, 3, q, likelihood=Identity(), target=target)
    variance = products(n, 3, q, target=EpistemicVariance())
    assert variance.products >= 4 * q * n**2
    assert mean.products <= 0.1 * 4 * q * n**2


def test_outputs_that_were_not_asked_for_cost_nothing() -> None:
    """One of six outputs with links of their own costs as much as a model that has no others.

    The comparison with the live model, at up to 24 points, is made for all outputs.
    """
    parts = [model(40, 5)[0] for _ in range(6)]
    X, x0, rule = normal(generator(0), 300, 5), model(40, 5)[2], GaussLegendre(16)
    one, six = (read(process, Exp()) for process in (parts[3], Stack(tuple(parts))))
    alone = counted(lambda: explain(one, X, baseline=x0, rule=rule))
    among = counted(lambda: explain(six, X, baseline=x0, outputs=[3], rule=rule))
    compared = 5 * 24 * 2 * 40 * (40 + 5)
    assert among.products <= 1.02 * alone.products + compared <= 1.1 * alone.products


def test_only_paths_that_need_it_are_refined() -> None:
    """One path of fifty lengthscales among forty short ones."""
    posterior, _, x0 = model(10, 4)
    X = x0 + 0.1 * normal(generator(3), 40, 4)
    X[7] = x0 + 50.0
    e = explain(posterior, X, baseline=x0, likelihood=Exp())
    assert int(e.nodes[7]) >= 10 * int(e.nodes[:7].max())
    assert int(e.nodes[:7].max()) == int(e.nodes.median())


def peak(work: Callable[[], object]) -> int:
    """The most bytes of tensors that were there at once, by torch's own account of what it allocates and frees."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        result = work()
    assert record.profiler is not None
    assert record.profiler.kineto_results is not None
    events = [event for event in record.profiler.kineto_results.events() if event.name() == "[memory]"]
    sizes = [event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())]
    del result
    return max(accumulate(sizes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "rows", "block"),
    [(Adaptive(), 2_000, 2**20), (RiemannRight(400), 50, 2**22)],
    ids=["default", "many nodes"],
)
def test_temporaries_do_not_grow_with_the_rows(
    rule: Rule, rows: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten times the rows stay within two blocks beside the result, which is written block by block.

    The largest block differs from table to table, because rows with equally many nodes are evaluated together.
    """
    monkeypatch.setattr(process, "BLOCK", block)
    monkeypatch.setattr(line, "SIZE", 0)  # memory of a fixed size would hide what grows
    posterior, X, x0 = model(50, 6)
    options = {"baseline": x0, "likelihood": Exp(), "rule": rule}
    explain(posterior, X, **options)  # A of the posterior is formed on first use
    beside = []
    for b in (rows, 10 * rows):
        X = normal(generator(b), b, 6)
        result = b * 8 * (3 * 6 + 5)  # values, errors, the inputs; prediction, baseline's, gap, nodes; masks of a byte
        beside.append(peak(lambda X=X: explain(posterior, X, **options)) - result)
    assert max(beside) <= 2 * block


def test_threads_do_not_change_the_result() -> None:
    posterior, X, x0 = model(300, 40)
    stack = Stack(tuple(model(60, 40, Matern52)[0] for _ in range(3)))
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        by_one = explain(posterior, X, baseline=x0, likelihood=Exp())
        classes_by_one = explain(stack, X, baseline=x0, likelihood=Likelihood("softmax", Softmax()))
        torch.set_num_threads(2)
        by_two = explain(posterior, X, baseline=x0, likelihood=Exp())
        classes_by_two = explain(stack, X, baseline=x0, likelihood=Likelihood("softmax", Softmax()))
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(by_two.values, by_one.values, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(classes_by_two.values, classes_by_one.values, rtol=1e-12, atol=1e-12)
