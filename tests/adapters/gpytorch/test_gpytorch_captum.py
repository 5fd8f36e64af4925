"""Attributions and predictions of every model against Captum and the host's own number, at the default tolerance."""

from functools import cache

import pytest
import torch
from captum.attr import IntegratedGradients
from gpytorch_entries import Entry
from gpytorch_response import response
from gpytorch_zoo import EVERY_MODEL

import gplens

pytestmark = [
    # A sum with a LinearKernel factorises K of the inputs in passing, and 400 points of a path are close together.
    pytest.mark.filterwarnings("ignore:A not p.d., added jitter:linear_operator.utils.warnings.NumericalWarning"),
    pytest.mark.parametrize("entry", EVERY_MODEL, ids=lambda entry: entry.name),
]

STEPS = 200


@cache
def explained(entry: Entry) -> gplens.Explanation:
    host = entry.fresh()
    return gplens.explain(host.model, host.data.inputs, baseline=host.data.baseline, likelihood=host.likelihood)


def test_values_equal_captum(entry: Entry) -> None:
    """Captum's Gauss-Legendre weights are float32: 6e-9 is what it has."""
    ours, host = explained(entry), entry.double()
    T, x, x0 = response(host), host.data.inputs, host.data.baseline[None]
    targets = [None] if ours.values.ndim == 2 else list(range(ours.values.shape[1]))
    method = IntegratedGradients(T)
    each = [
        method.attribute(x, baselines=x0, target=target, method="gausslegendre", n_steps=STEPS) for target in targets
    ]
    captum = each[0] if targets == [None] else torch.stack(each, dim=1)
    assert ours.converged is not None
    assert ours.converged.all()
    assert (ours.values - captum).abs().max() <= 1e-6 * captum.abs().max()


def test_predictions_are_the_numbers_that_the_host_prints(entry: Entry) -> None:
    ours, host = explained(entry), entry.double()
    with torch.no_grad():
        prediction, origin = (response(host)(x) for x in (host.data.inputs, host.data.baseline[None]))
    assert (ours.prediction - prediction).abs().max() <= 1e-8
    assert (ours.baseline_prediction - origin).abs().max() <= 1e-8


def test_the_latent_marginal_is_that_of_the_model_in_its_own_dtype(entry: Entry) -> None:
    """The float32 model itself, not its copy in float64: equal to what float32 holds."""
    host = entry.fresh()
    with torch.no_grad():
        f = host.model(host.data.inputs)
    for target, subject in ((gplens.targets.Latent(), f.mean), (gplens.targets.EpistemicVariance(), f.variance)):
        result = gplens.explain(host.model, host.data.inputs, baseline=host.data.baseline, target=target)
        assert (result.prediction - subject.double()).abs().max() <= (2e-4 if entry.single else 1e-8)
