"""What pair moments refuse: rough functions, covariances that are none, links without them; and what they accept."""

import math
from collections.abc import Callable

import pytest
import torch
from jaxtyping import config
from pair_paths import WITH_PAIRS, double, joint
from torch import Tensor

from conformance.zoo import LINKS, LinkCase
from gplens.links import Affine, LaplaceTail, Link, Quadrature, QuadratureError, Sigmoid, SigmoidTaylor
from messages import naming

ROUGH = {
    "relu": torch.relu,
    "step": lambda f: (f > 0).to(f.dtype),
    "elu": torch.nn.functional.elu,
    "jump in g''": lambda f: f * f.abs(),
    "jump in g'', far": lambda f: torch.relu(f - 1) ** 2 + torch.sin(f),
    "jump in g'''": lambda f: f.abs() ** 3,
    "detached": lambda f: f * f * f.detach(),
}


@pytest.mark.parametrize("g", ROUGH.values(), ids=ROUGH.keys())
def test_rough_functions_are_refused(g: Callable[[Tensor], Tensor]) -> None:
    with pytest.raises(QuadratureError, match=naming("moments", 1e-11, "links.Exp()")):
        Quadrature(g).pair_moments(*joint([(0.3, 0.1, 1.0, 2.0, 0.5)]))


@pytest.mark.parametrize("case", WITH_PAIRS, ids=repr)
def test_rounding_beyond_correlation_one_is_accepted(case: LinkCase) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 1.0)])
    exact, over = case.link.pair_moments(m, v, c), case.link.pair_moments(m, v, c * (1 + 1e-12))
    assert all(torch.allclose(a, b, rtol=1e-10, atol=1e-10) for a, b in zip(exact, over, strict=True))


def test_a_variance_that_rounding_made_zero_is_accepted() -> None:
    """A training input without noise: v = 0 and c = 1e-17 beside variances of one."""
    m, v, c = joint([(0.3, 0.1, 0.0, 1.0, 0.0)])
    exact, over = Sigmoid().pair_moments(m, v, c), Sigmoid().pair_moments(m, v, c + 1e-17)
    assert all(torch.allclose(a, b, atol=1e-15) for a, b in zip(exact, over, strict=True))


@pytest.mark.parametrize("case", [*WITH_PAIRS, LINKS["Affine(Exp)"]], ids=repr)
def test_numbers_that_are_no_covariance_are_refused(case: LinkCase) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 1.0 + 1e-6)])
    with pytest.raises(ValueError, match=naming(2, 4, "sqrt(v v')", "c=2")):
        case.link.pair_moments(m, v, c)
    with pytest.raises(ValueError, match=naming(1, 4, "c")):
        case.link.pair_moments(m, v, c * double(1, 1, 1, math.nan).reshape(2, 2))
    with pytest.raises(ValueError, match=naming(1, 2, -2)):
        case.link.pair_moments(m, v * double(-1, 1), c)


@pytest.mark.parametrize("case", WITH_PAIRS, ids=repr)
def test_shapes_and_dtypes_that_differ_are_refused(case: LinkCase) -> None:
    m, v, c = joint([(0.3, 0.3, 2.0, 2.0, 0.5)])
    config.update("jaxtyping_disable", True)
    try:
        with pytest.raises(ValueError, match=naming("c", "(1, 2, 1)", "(1, 2, 2)")):
            case.link.pair_moments(m, v, c[..., :1])
        with pytest.raises(ValueError, match=naming("c", "torch.float32", "torch.float64")):
            case.link.pair_moments(m, v, c.float())
    finally:
        config.update("jaxtyping_disable", False)


@pytest.mark.parametrize(
    ("link", "names"),
    [
        (LaplaceTail(0.5, 1.0), ("LaplaceTail", "pair moments", 0.5, "draws")),
        (SigmoidTaylor(), ("SigmoidTaylor", "pair moments", "links.Sigmoid()")),
        (Affine(SigmoidTaylor(), 2.0, 0.0), ("SigmoidTaylor", "pair moments", "links.Sigmoid()")),
    ],
    ids=["LaplaceTail", "SigmoidTaylor", "Affine(SigmoidTaylor)"],
)
def test_links_without_pair_moments_say_what_to_use(link: Link, names: tuple[object, ...]) -> None:
    with pytest.raises(NotImplementedError, match=naming(*names)):
        link.pair_moments(*joint([(0.3, 0.3, 2.0, 2.0, 0.5)]))
