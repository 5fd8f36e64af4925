"""What the softmax costs: numbers made per node, counted, not timed. O(C), up to the outputs that were asked for."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from gplens.expectations.softmax.integral import derivatives, softmax_moments
from gplens.expectations.softmax.taylor import taylor


class Meter(TorchDispatchMode):
    """The numbers that all operations gave, views included, and the largest memory among them."""

    def __init__(self) -> None:
        super().__init__()
        self.total = self.largest = 0

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            size = out.untyped_storage().nbytes() // out.element_size()
            self.total += out.numel()
            self.largest = max(self.largest, size)
        return out


def elements(classes: int, v: float) -> tuple[Tensor, Tensor]:
    """One element whose classes differ in m."""
    generator = torch.Generator().manual_seed(0)
    m = torch.randn(1, classes, generator=generator, dtype=torch.float64)
    return m, torch.full_like(m, v)


@pytest.mark.parametrize("v", [0.0, 0.1, 4.0])
@pytest.mark.parametrize(
    "road", [derivatives, lambda m, v, outputs: taylor(m, v).derivatives(outputs)], ids=["exact", "taylor"]
)
def test_one_output_of_a_thousand_classes_makes_nothing_of_classes_squared(
    road: Callable[..., object], v: float
) -> None:
    m, v_ = elements(1000, v)
    with Meter() as meter:
        road(m, v_, [0])
    assert meter.largest < 1000 * 1000 / 2


def test_the_meter_sees_a_jacobian() -> None:
    m, v = elements(1000, 1.0)
    with Meter() as meter:
        softmax_moments(m, v).jacobian()
    assert meter.largest >= 1000 * 1000


@pytest.mark.parametrize("v", [0.0, 0.1, 4.0])
def test_the_work_of_a_node_grows_like_the_number_of_classes(v: float) -> None:
    """Numbers made and multiplications in matrix products, per class and node, are no more for 1000 than for 100."""
    made, multiplied = [], []
    for classes in (100, 1000):
        m, v_ = elements(classes, v)
        work = classes * sum(block.l.shape[2] for block in softmax_moments(m, v_).blocks)
        with Meter() as meter:
            derivatives(m, v_, [0])
        with FlopCounterMode(display=False) as flops:
            derivatives(m, v_, [0])
        made.append(meter.total / work)
        multiplied.append(flops.get_total_flops() / work)
    assert made[1] <= 1.1 * made[0]
    assert multiplied[1] <= 1.1 * multiplied[0]
