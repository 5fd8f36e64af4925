"""What no link accepts, and how it says so."""

import math

import pytest
import torch
from jaxtyping import config

from gplens.links import (
    Affine,
    Exp,
    Identity,
    LaplaceTail,
    Link,
    Probit,
    ProbitMixture,
    Quadrature,
    Sigmoid,
    SigmoidTaylor,
    Softplus,
    Square,
)

EVERY_LINK = [
    Identity(),
    Square(),
    Exp(),
    Probit(),
    ProbitMixture((1.5, -0.5), (0.5, 4.0)),
    LaplaceTail(0.0, 1.0),
    Sigmoid(),
    SigmoidTaylor(),
    Softplus(),
    Affine(Exp(), 2.0, 1.0),
    Quadrature(torch.sin),
]


@pytest.fixture
def without_shape_checks() -> object:
    """As users run it: the axes in the types are checked in tests only."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("link", EVERY_LINK, ids=repr)
def test_negative_variance(link: Link) -> None:
    v = torch.tensor([1.0, -1e-9, -0.25]).double()
    with pytest.raises(ValueError, match=r"2 of 3 variances are negative, the smallest -0\.25; .* v >= 0.*float64"):
        link.moments(torch.zeros_like(v), v)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("link", EVERY_LINK, ids=repr)
def test_not_finite(link: Link, bad: float) -> None:
    good, broken = torch.ones(3).double(), torch.tensor([1.0, bad, bad]).double()
    with pytest.raises(ValueError, match=r"2 of 3 entries of v are NaN or infinite; .*missing values"):
        link.moments(good, broken)
    with pytest.raises(ValueError, match=r"2 of 3 entries of m are NaN or infinite; .*missing values"):
        link.moments(broken, good)


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("link", EVERY_LINK, ids=repr)
def test_shapes_that_differ(link: Link) -> None:
    with pytest.raises(ValueError, match=r"m has shape \(3,\) and v \(1,\); .*broadcast_tensors"):
        link.moments(torch.zeros(3).double(), torch.ones(1).double())


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
@pytest.mark.parametrize("link", EVERY_LINK, ids=repr)
def test_dtypes_that_differ(link: Link, dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=r"m is torch\.float64 and v torch\.\w+; .*m\.double\(\)"):
        link.moments(torch.zeros(3).double(), torch.ones(3, dtype=dtype))


@pytest.mark.parametrize(("shift", "noise"), [(0.0, 0.0), (0.0, -1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_probit_parameters(shift: float, noise: float) -> None:
    with pytest.raises(ValueError, match=r"Probit got shift=.*noise > 0"):
        Probit(shift=shift, noise=noise)


@pytest.mark.parametrize(("scale", "offset"), [(math.nan, 0.0), (1.0, math.inf)])
def test_affine_parameters(scale: float, offset: float) -> None:
    with pytest.raises(ValueError, match=r"Affine got scale=.*finite"):
        Affine(Exp(), scale, offset)
