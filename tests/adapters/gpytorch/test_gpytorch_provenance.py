"""What an explanation tells of the model: its gradients, its black boxes, the checks against the host."""

import re
from functools import cache

import pytest
from gpytorch_entries import Entry
from gpytorch_zoo import BY_NAME, EVERY_MODEL

import gplens

each_model = pytest.mark.parametrize("entry", EVERY_MODEL, ids=lambda entry: entry.name)


@cache
def provenance(entry: Entry) -> gplens.explanation.Provenance:
    host = entry.fresh()
    return gplens.explain(
        host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood
    ).provenance


@each_model
def test_closed_forms_and_autograd_are_told_apart(entry: Entry) -> None:
    kernel_notes = [note for note in provenance(entry).notes if "through autograd" in note]
    assert bool(kernel_notes) == (not entry.formulas)
    if not entry.formulas:
        assert provenance(entry).gradients == "autograd"


@each_model
def test_the_checks_against_the_host_are_noted_with_their_size(entry: Entry) -> None:
    notes = [note for note in provenance(entry).notes if note.startswith("m and v equal the host's in")]
    dtypes = ["torch.float64", "torch.float32"] if entry.single else ["torch.float64"]
    assert [note.split(" in ")[1].split(" to ")[0] for note in notes] == dtypes
    sizes = [float(size) for size in re.findall(r"\d\.\de[-+]\d\d", notes[0])]
    assert len(sizes) == 2
    assert max(sizes) <= 1e-10


@each_model
def test_the_names_are_those_of_the_user_s_classes(entry: Entry) -> None:
    host, subject = entry.build(), provenance(entry)
    assert subject.model == type(host.model).__name__
    assert subject.likelihood == type(host.likelihood).__name__


@pytest.mark.parametrize("name", ["exact deep kernel", "svgp deep kernel bernoulli float32"])
def test_a_network_in_forward_is_noted(name: str) -> None:
    assert any("autograd" in note and "covar_module" in note for note in provenance(BY_NAME[name]).notes)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("svgp tilted rbf", "TiltedRBF"),
        ("svgp own kernel in a sum", "CauchyKernel"),
        ("svgp spectral mixture", "SpectralMixtureKernel"),
    ],
)
def test_a_black_box_kernel_is_named_and_its_neighbours_keep_their_formulas(name: str, kernel: str) -> None:
    notes = [note for note in provenance(BY_NAME[name]).notes if "autograd" in note]
    assert notes == [f"{kernel} goes through autograd: gplens has no formula for it"]
