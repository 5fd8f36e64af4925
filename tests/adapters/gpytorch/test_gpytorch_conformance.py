"""Three of the GPyTorch zoo in the contract of all hosts: exact, sparse and non-Gaussian, several outputs."""

from collections.abc import Callable

import pytest
import torch
from gpytorch_entries import Entry, Host
from gpytorch_response import response
from gpytorch_zoo import BY_NAME

from conformance.hosts import EVERY_CHECK, Array, Fitted, HostCase

NAMES = ["exact rbf ard", "svgp rbf ard bernoulli float32", "tasks that share kernel and points"]


def case(entry: Entry) -> HostCase:
    """In float64, so that the host's own rounding leaves room for differences."""

    def fit() -> Fitted:
        host = entry.double()
        return Fitted(host.model, host.data.inputs.numpy(), host.data.baseline.numpy(), host.likelihood)

    def predicted(subject: Fitted, X: Array) -> Array:
        with torch.no_grad():
            return response(Host(subject.model, subject.likelihood, entry.build().data))(torch.tensor(X)).numpy()

    def state(subject: Fitted) -> dict[str, list[float]]:
        modules = {"model": subject.model, "likelihood": subject.likelihood}
        return {f"{part}.{name}": t.tolist() for part, item in modules.items() for name, t in item.state_dict().items()}

    return HostCase(entry.name, fit, predicted, state=state)


CASES = [case(BY_NAME[name]) for name in NAMES]


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("check", EVERY_CHECK, ids=lambda check: check.__name__)
def test_contract(case: HostCase, check: Callable[[HostCase], None]) -> None:
    check(case)
