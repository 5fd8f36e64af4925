"""Every BoTorch model of the zoo, held to what gplens owes to every host."""

from collections.abc import Callable

import pytest
from botorch_zoo import BY_NUTS, EVERY_MODEL

from conformance.hosts import EVERY_CHECK, HostCase

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks


@pytest.mark.parametrize("case", EVERY_MODEL, ids=repr)
@pytest.mark.parametrize("check", EVERY_CHECK, ids=lambda check: check.__name__)
def test_contract(case: HostCase, check: Callable[[HostCase], None]) -> None:
    check(case)


@pytest.mark.slow
def test_contract_of_models_fitted_by_nuts() -> None:
    """In one test, so that the sampler is compiled once."""
    for case in BY_NUTS:
        for check in EVERY_CHECK:
            check(case)
