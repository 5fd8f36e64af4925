"""What the softmax functions refuse, and how they say so."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from gplens.expectations.softmax.integral import derivatives, softmax_moments
from gplens.expectations.softmax.taylor import taylor
from messages import naming

M, V = torch.zeros(2, 3).double(), torch.ones(2, 3).double()
NAN, INFINITE, NEGATIVE = (V.clone().fill_(x) for x in (float("nan"), float("inf"), -1e-3))

BAD = {
    "one class": (M[:, :1], V[:, :1], naming("classes", 1)),
    "shapes that differ": (M, V[:, :2], naming("(2, 3)", "(2, 2)", "(elements, classes)")),
    "no elements axis": (M[0], V[0], naming("(3,)", "(elements, classes)")),
    "mean NaN": (NAN, V, naming("finite", "posterior")),
    "variance NaN": (M, NAN, naming("finite", "posterior")),
    "mean infinite": (INFINITE, V, naming("finite", "posterior")),
    "variance negative": (M, NEGATIVE, naming(-0.001)),
    "float32": (M.float(), V, naming("torch.float32", "torch.float64", ".double()")),
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
    with pytest.raises(ValueError, match=naming("tolerance", 1e-12, 1e-2, tolerance)):
        softmax_moments(M, V, tolerance=tolerance)


@pytest.mark.parametrize("a", [M, torch.ones(2, 1, 4).double(), torch.ones(2, 1, 3)], ids=["2d", "4 classes", "float"])
def test_weights_of_another_shape_are_refused(a: Tensor) -> None:
    with pytest.raises(ValueError, match=naming("(2, channels, 3)", tuple(a.shape), a.dtype)):
        taylor(M, V).pull_back(a)
