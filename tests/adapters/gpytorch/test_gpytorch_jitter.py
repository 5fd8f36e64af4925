"""The host's jitter: on K, on the variance that it predicts, in the dtype and the settings of the user's model."""

import gpytorch
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch_entries import Entry, sparse
from gpytorch_zoo import BY_NAME, EVERY_MODEL, rbf_ard
from torch import Tensor

import gplens
from gplens.targets import EpistemicVariance, Latent

VARIATIONAL = [entry for entry in EVERY_MODEL if not entry.name.startswith("exact")]


def predicted(model: object, x: Tensor, target: gplens.targets.Target) -> Tensor:
    return gplens.explain(model, x, baseline=0.0, target=target).prediction


@pytest.mark.parametrize("entry", EVERY_MODEL, ids=lambda entry: entry.name)
def test_m_and_v_are_the_host_s_with_its_jitter(entry: Entry) -> None:
    """In float64, with the jitter of the model's own dtype, at inputs far and near."""
    subject, host = entry.fresh(), entry.double()
    x = torch.cat([subject.data.inputs, subject.data.x[:3], 5 * subject.data.inputs])
    with torch.no_grad():
        f = host.model(x.double())
    assert (predicted(subject.model, x, Latent()) - f.mean).abs().max() <= 1e-8
    assert (predicted(subject.model, x, EpistemicVariance()) - f.variance).abs().max() <= 1e-8


def jitter_notes(entry: Entry) -> list[str]:
    host = entry.fresh()
    result = gplens.explain(host.model, host.data.inputs, baseline=0.0, target=Latent())
    return [note for note in result.provenance.notes if note.startswith("jitter")]


@pytest.mark.parametrize("entry", VARIATIONAL, ids=lambda entry: entry.name)
def test_the_jitter_is_told(entry: Entry) -> None:
    value = "0.001" if "jitter 1e-3" in entry.name else "0.0001" if entry.single else "1e-06"
    assert jitter_notes(entry) == [f"jitter {value} on K of the inducing points, as the host adds it"]


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
@pytest.mark.parametrize("unwhitened", [False, True], ids=["whitened", "unwhitened"])
@pytest.mark.parametrize("jitter", [1e-2, 1e-8])
def test_a_jitter_of_the_user_s_own_is_used(jitter: float, unwhitened: bool, single: bool) -> None:
    options = {"jitter": jitter}
    if unwhitened:
        options["strategy"] = gpytorch.variational.UnwhitenedVariationalStrategy
    entry = sparse(f"jitter {jitter}", rbf_ard, options=options, single=single)
    subject, host = entry.fresh(), entry.double()
    with torch.no_grad():
        v = host.model(host.data.inputs).variance
    assert (predicted(subject.model, subject.data.inputs, EpistemicVariance()) - v).abs().max() <= 1e-8


@pytest.mark.parametrize("name", ["svgp rbf gaussian", "svgp rbf ard bernoulli float32", "lmc poisson"])
def test_the_jitter_of_the_settings_is_used_while_they_hold(name: str) -> None:
    host, other = BY_NAME[name].fresh(), BY_NAME[name].fresh()
    x = host.data.inputs
    usual = predicted(host.model, x, EpistemicVariance())
    with gpytorch.settings.variational_cholesky_jitter(float_value=0.05, double_value=0.05):
        with torch.no_grad():
            v = other.model(x).variance
        larger = predicted(host.model, x, EpistemicVariance())
    assert (larger - v).abs().max() <= (1e-5 if BY_NAME[name].single else 1e-8)
    assert (larger - usual).abs().max() > 0.01
    assert torch.equal(predicted(host.model, x, EpistemicVariance()), usual)


def test_float32_and_float64_jitter_differ_by_what_the_host_adds() -> None:
    """The same parameters in the two dtypes: v differs by 1e-4 - 1e-6 where the inducing points say nothing."""
    entry = sparse("a far point", lambda: ScaleKernel(RBFKernel()), single=True)
    single, double = entry.fresh(), entry.fresh()
    double.model.double()
    far = torch.full((1, 3), 100.0)
    v = [predicted(model, far, EpistemicVariance()) for model in (single.model, double.model)]
    assert float(v[0] - v[1]) == pytest.approx(1e-4 - 1e-6, abs=1e-12)
