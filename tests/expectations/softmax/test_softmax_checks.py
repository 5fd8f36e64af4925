"""What the softmax functions refuse, and how they say so."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gplens.expectations.softmax.integral import derivatives, softmax_moments
from gplens.expectations.softmax.taylor import taylor

M, V = torch.zeros(2, 3).double(), torch.ones(2, 3).double()
NAN, INFINITE, NEGATIVE = (V.clone().fill_(x) for x in (float("nan"), float("inf"), -1e-3))

BAD = {
    "one class": (M[:, :1], V[:, :1], "two classes or more; got 1. .*sigmoid"),
    "shapes that differ": (M, V[:, :2], r"got \(2, 3\) and \(2, 2\). Reshape"),
    "no elements axis": (M[0], V[0], r"got \(3,\) and \(3,\). Reshape"),
    "mean NaN": (NAN, V, "got NaN or infinity. Check the posterior"),
    "variance NaN": (M, NAN, "got NaN or infinity. Check the posterior"),
    "mean infinite": (INFINITE, V, "got NaN or infinity. Check the posterior"),
    "variance negative": (M, NEGATIVE, "smallest is -0.001. .*set it to zero"),
    "float32": (M.float(), V, r"got torch.float32 and torch.float64. Call .double\(\)"),
}


@pytest.mark.parametrize(("m", "v", "message"), BAD.values(), ids=BAD)
@pytest.mark.parametrize("function", [softmax_moments, taylor, lambda m, v: derivatives(m, v, [0])])
def test_bad_marginals_are_refused_with_a_reason(
    function: Callable[[Tensor, Tensor], object], m: Tensor, v: Tensor, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        function(m, v)


@pytest.mark.parametrize("tolerance", [0.0, 1e-13, 0.5, float("nan")])
def test_a_tolerance_that_float64_cannot_hold_is_refused(tolerance: float) -> None:
    with pytest.raises(ValueError, match="between 1e-12 and 1e-2; got"):
        softmax_moments(M, V, tolerance=tolerance)


@pytest.mark.parametrize("a", [M, torch.ones(2, 1, 4).double(), torch.ones(2, 1, 3)], ids=["2d", "4 classes", "float"])
def test_weights_of_another_shape_are_refused(a: Tensor) -> None:
    with pytest.raises(ValueError, match=r"shape \(2, channels, 3\); got"):
        taylor(M, V).pull_back(a)
