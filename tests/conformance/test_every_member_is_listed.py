"""Every kernel and link that gplens exports is a case of the conformance tests, with everything they compare."""

import inspect
from dataclasses import fields, is_dataclass

import pytest
import torch

from conformance.zoo import EVERY_KERNEL, FEATURES, LINKS, KernelCase, LinkCase, generator, normal
from gplens import kernels, links
from gplens.kernels import Kernel
from gplens.links import Link
from messages import naming

WRAPPERS = {"Affine", "Quadrature"}
"""Links of another link or of any function; their moments are compared with those of what they contain."""
IN_PARTS = {
    "LaplaceTail": "g'' jumps, so that there are no pair moments",
    "ProbitMixture": "a sum of Probit, which is compared in whole explanations",
}
"""Exact links without `g` and `expected`, and the reason."""
UNLISTED_KERNELS = {"Discrete": "of categories; tests/kernels/test_kernel_discrete.py"}


def exported(module: object, base: type) -> list[str]:
    members = inspect.getmembers(module, inspect.isclass)
    return [name for name, kind in members if issubclass(kind, base) and not inspect.isabstract(kind)]


@pytest.mark.parametrize("name", exported(links, Link))
def test_every_link_is_a_case(name: str) -> None:
    cases = [case for case in LINKS.values() if type(case.link).__name__ == name]
    assert cases, f"links.{name} has no LinkCase; add one to LINKS in tests/conformance/link_cases.py"
    if name in WRAPPERS or not cases[0].link.exact:
        return
    case = LINKS.get(name)
    assert case is not None, f"expected a LinkCase of links.{name} with the name {name!r}, got {cases}"
    expected = {"moments"} | ({"pairs"} if case.link.has_pair_moments else set())
    expected |= set() if name in IN_PARTS else {"g", "expected"}
    missing = sorted(field for field in expected if getattr(case, field) is None)
    assert not missing, (
        f"LinkCase {name!r} has no {', '.join(missing)}; write them by hand (see docs/project/new-link.md)"
    )


@pytest.mark.parametrize("case", LINKS.values(), ids=repr)
def test_a_link_states_both_g_and_its_expectation_or_neither(case: LinkCase) -> None:
    assert (case.g is None) == (case.expected is None), f"LinkCase {case} has only one of g and expected"


@pytest.mark.parametrize("name", exported(kernels, Kernel))
def test_every_kernel_is_a_case(name: str) -> None:
    if name not in UNLISTED_KERNELS:
        types = {type(kernel).__name__ for case in EVERY_KERNEL for kernel in nested(case.build(0)[0])}
        assert name in types, f"kernels.{name} has no KernelCase; add one to KERNELS in tests/conformance/zoo.py"


def nested(kernel: Kernel) -> list[Kernel]:
    """The kernel and all kernels inside of it."""
    assert is_dataclass(kernel)
    values = [getattr(kernel, field.name) for field in fields(kernel)]
    inner = [part for value in values for part in (value if isinstance(value, tuple) else (value,))]
    return [kernel, *(below for part in inner if isinstance(part, Kernel) for below in nested(part))]


@pytest.mark.parametrize("case", EVERY_KERNEL, ids=repr)
def test_a_kernel_says_whether_it_is_smooth(case: KernelCase) -> None:
    """Kernels that go through autograd are the exception: they are taken not to be smooth, whatever they are."""
    kernel = case.build(0)[0]
    smooth = all(part.smooth for part in kernel.parts())
    assert smooth == (case.smooth and not kernel.autograd), (
        f"{case}: smooth is {smooth} and KernelCase.smooth is {case.smooth}. If k is not analytic at x = z, override "
        "the property `smooth` of the kernel to return False and pass smooth=False to KernelCase; otherwise do neither."
    )


def per_feature(kernel: Kernel) -> bool:
    """Whether a part of the kernel has a parameter for each feature."""
    vectors = [value for part in nested(kernel) for value in vars(part).values() if isinstance(value, torch.Tensor)]
    return any(vector.shape == (FEATURES,) for vector in vectors)


PER_FEATURE = [case for case in EVERY_KERNEL if per_feature(case.build(0)[0])]


@pytest.mark.parametrize("features", [FEATURES - 1, FEATURES + 1])
@pytest.mark.parametrize("case", PER_FEATURE, ids=repr)
def test_support_points_with_another_number_of_features_are_refused(case: KernelCase, features: int) -> None:
    kernel, Z = case.build(0)[0], normal(generator(0), 5, features)
    with pytest.raises(ValueError, match=naming(FEATURES, features)):
        kernel.prepare(Z)


def test_the_kernels_with_a_parameter_for_each_feature_are_found() -> None:
    names = {"rbf", "matern32", "matern52", "rational quadratic", "cosine", "periodic", "linear", "polynomial"}
    assert names <= {case.name for case in PER_FEATURE}
