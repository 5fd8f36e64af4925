"""Every model whose kernels have formulas, to 1e-12, against autograd through the host along the path."""

import pytest
from gpytorch_entries import Entry
from gpytorch_response import response
from gpytorch_zoo import EVERY_MODEL

import gplens
from oracles.autograd_path import integrated_gradients

# A sum with a LinearKernel factorises K of the inputs in passing, and the points of a path are close together.
pytestmark = pytest.mark.filterwarnings(
    "ignore:A not p.d., added jitter:linear_operator.utils.warnings.NumericalWarning"
)

FORMULAS = [entry for entry in EVERY_MODEL if entry.formulas]
BLACK_BOXES = [entry for entry in EVERY_MODEL if not entry.formulas]


def explained(entry: Entry) -> gplens.Explanation:
    host = entry.fresh()
    return gplens.explain(
        host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood, tolerance=1e-12
    )


def deviation(entry: Entry, panels: int = 16) -> tuple[float, float]:
    """Of the values and of the sum (the gap), relative to the largest attribution."""
    ours, host = explained(entry), entry.double()
    oracle = integrated_gradients(response(host), host.data.inputs, host.data.baseline, panels=panels)
    size = oracle.abs().max()
    assert ours.converged is not None
    assert ours.converged.all()
    return float((ours.values - oracle).abs().max() / size), float(ours.gap.abs().max() / size)


@pytest.mark.parametrize("entry", FORMULAS, ids=lambda entry: entry.name)
def test_formulas_reach_1e_12_and_add_up_as_well(entry: Entry) -> None:
    """In float64, and in float32 against the float64 copy with the float32 jitter."""
    values, gap = deviation(entry)
    assert values <= 1e-12
    assert gap <= 1e-12


@pytest.mark.parametrize("entry", BLACK_BOXES, ids=lambda entry: entry.name)
def test_autograd_kernels_give_the_same_results(entry: Entry) -> None:
    """The piecewise polynomial has kinks in its derivatives, where the oracle's fixed panels keep 1e-12 only."""
    values, gap = deviation(entry, panels=40)
    assert values <= 1e-11
    assert gap <= 1e-12
