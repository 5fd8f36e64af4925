"""`gplens.verify` of every model of the zoos of hosts: no check fails, and those that are not made say why."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gplens
from conformance.hosts import HostCase, fitted
from gplens.verification.host import MAKERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),  # torch, for tasks
]
ZOOS = {
    "sklearn": ("sklearn_zoo", "EVERY_MODEL"),
    "gpytorch": ("test_gpytorch_conformance", "CASES"),
    "botorch": ("botorch_zoo", "EVERY_MODEL"),
}


def cases(host: str, monkeypatch: pytest.MonkeyPatch) -> list[HostCase]:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[1] / "adapters" / host), *sys.path])
    module, name = ZOOS[host]
    return getattr(import_module(module), name)


@pytest.mark.parametrize("host", ZOOS)
def test_no_check_fails(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first input of each model; at least predictions, completeness, antisymmetry and gradients are checked."""
    for case in cases(host, monkeypatch):
        subject = fitted(case)
        verification = gplens.verify(
            subject.model, subject.X[:1], baseline=_row(subject.baseline), likelihood=subject.likelihood
        )
        assert verification.passed, f"{case.name}\n{verification}"
        made = [check for check in verification.checks if check.passed is not None]
        assert len(made) >= 4, f"{case.name}\n{verification}"
        assert all(check.reason for check in verification.checks if check not in made), f"{case.name}\n{verification}"


def test_every_library_that_can_be_asked_is_listed() -> None:
    assert set(ZOOS) == set(MAKERS)


def _row(baseline: Any) -> Any:
    return baseline if baseline.ndim == 1 else baseline[0]
