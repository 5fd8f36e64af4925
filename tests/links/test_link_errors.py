"""What every link refuses: bad means, variances, shapes, dtypes and parameters."""

import math

import pytest
import torch
from jaxtyping import config

from conformance.zoo import LINKS, LinkCase
from gplens.links import Affine, Exp, Probit
from messages import naming

every_case = pytest.mark.parametrize("case", LINKS.values(), ids=repr)


@pytest.fixture
def without_shape_checks() -> object:
    """As users run it: the axes in the types are checked in tests only."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@every_case
def test_negative_variances_are_refused(case: LinkCase) -> None:
    v = torch.tensor([1.0, -1e-9, -0.25]).double()
    with pytest.raises(ValueError, match=naming(2, 3, -0.25, "v >= 0", "float64")):
        case.link.moments(torch.zeros_like(v), v)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@every_case
def test_means_and_variances_that_are_not_finite_are_refused(case: LinkCase, bad: float) -> None:
    good, broken = torch.ones(3).double(), torch.tensor([1.0, bad, bad]).double()
    with pytest.raises(ValueError, match=naming(2, 3, "v")):
        case.link.moments(good, broken)
    with pytest.raises(ValueError, match=naming(2, 3, "m")):
        case.link.moments(broken, good)


@pytest.mark.usefixtures("without_shape_checks")
@every_case
def test_shapes_that_differ_are_refused(case: LinkCase) -> None:
    with pytest.raises(ValueError, match=naming("m", "(3,)", "v", "(1,)", "broadcast_tensors")):
        case.link.moments(torch.zeros(3).double(), torch.ones(1).double())


@pytest.mark.usefixtures("without_shape_checks")
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64], ids=str)
@every_case
def test_dtypes_that_differ_are_refused(case: LinkCase, dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match=naming("m", "torch.float64", "v", dtype, "m.double()")):
        case.link.moments(torch.zeros(3).double(), torch.ones(3, dtype=dtype))


@pytest.mark.parametrize(("shift", "noise"), [(0.0, 0.0), (0.0, -1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_probit_parameters_are_checked(shift: float, noise: float) -> None:
    with pytest.raises(ValueError, match=naming("Probit", "shift", shift, "noise", noise)):
        Probit(shift=shift, noise=noise)


@pytest.mark.parametrize(("scale", "offset"), [(math.nan, 0.0), (1.0, math.inf)])
def test_affine_parameters_are_checked(scale: float, offset: float) -> None:
    with pytest.raises(ValueError, match=naming("Affine", "scale", scale, "offset", offset)):
        Affine(Exp(), scale, offset)
