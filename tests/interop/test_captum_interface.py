"""gplens.captum beside captum.attr.IntegratedGradients: the same arguments, shapes, tuples, signs, and metrics."""

import subprocess
import sys
from typing import Any

import pytest
import torch
from captum.attr import IntegratedGradients, NoiseTunnel
from captum.metrics import infidelity, sensitivity_max
from torch import Tensor

import gplens
from conformance.zoo import generator, normal
from gplens import Posterior, Stack
from gplens.interop.captum_attribution import METHODS, GaussianProcessIntegratedGradients
from gplens.kernels import RBF
from gplens.links import Exp, OneVsRest, Probit
from messages import naming

SCALE = torch.tensor([0.8, 1.4, 2.0, 1.1], dtype=torch.float64)


def posterior(seed: int) -> Posterior:
    g = generator(seed)
    return Posterior.exact(RBF(SCALE), normal(g, 8, 4), normal(g, 8), noise=0.1)


ONE = posterior(1)
THREE = Stack((ONE, posterior(2), posterior(3)))


def moments(posterior: Posterior, x: Tensor) -> tuple[Tensor, Tensor]:
    k = torch.exp(-(((x[:, None] - posterior.Z) / SCALE) ** 2).sum(2) / 2)
    return k @ posterior.beta[0], 1 - ((k @ posterior.A.F[0].T) ** 2).sum(1)


def counts(*parts: Tensor) -> Tensor:
    """E exp(f), with autograd, from all of the columns."""
    m, v = moments(ONE, torch.cat([part.flatten(1) for part in parts], 1))
    return torch.exp(m + v / 2)


def classes(x: Tensor) -> Tensor:
    each = [moments(part, x) for part in THREE.parts if isinstance(part, Posterior)]
    p = torch.stack([torch.special.ndtr(m / (1 + v).sqrt()) for m, v in each], 1)
    return p / p.sum(1, keepdim=True)


def ours(several: bool = False) -> GaussianProcessIntegratedGradients:
    if several:
        return GaussianProcessIntegratedGradients(THREE, OneVsRest(Probit()))
    return GaussianProcessIntegratedGradients(ONE, Exp())


X = normal(generator(7), 5, 4)
ROWS = normal(generator(8), 5, 4)
BASELINES = [None, 0, 0.3, ROWS[:1], ROWS]


@pytest.mark.parametrize("baselines", BASELINES, ids=["none", "zero", "number", "one row", "all rows"])
def test_one_changed_line_gives_the_same_attributions_and_delta(baselines: Any) -> None:
    options = {"baselines": baselines, "return_convergence_delta": True}
    theirs, their_delta = IntegratedGradients(counts).attribute(X, n_steps=200, **options)
    values, delta = ours().attribute(X, n_steps=200, **options)
    assert values.shape == theirs.shape
    assert delta.shape == their_delta.shape
    assert (values - theirs).abs().max() <= 1e-7 * theirs.abs().max()
    exact, gap = ours().attribute(X, **options)
    assert (exact - theirs).abs().max() <= 1e-6 * theirs.abs().max()
    assert gap.abs().max() <= 1e-6 * theirs.abs().max()


@pytest.mark.parametrize("target", [1, torch.tensor(1), [0, 2, 1, 1, 0], torch.tensor([0, 2, 1, 1, 0]), [(1,)] * 5])
def test_targets_choose_outputs_as_in_captum(target: Any) -> None:
    theirs, their_delta = IntegratedGradients(classes).attribute(
        X, target=target, n_steps=100, return_convergence_delta=True
    )
    values, delta = ours(several=True).attribute(X, target=target, n_steps=100, return_convergence_delta=True)
    assert (values - theirs).abs().max() <= 1e-7
    assert (delta - their_delta).abs().max() <= 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_methods_are_captums_and_the_delta_has_its_sign(method: str) -> None:
    options = {"baselines": ROWS, "n_steps": 7, "method": method, "return_convergence_delta": True}
    theirs, their_delta = IntegratedGradients(counts).attribute(X, **options)
    values, delta = ours().attribute(X, **options)
    torch.testing.assert_close(delta, values.sum(1) - (counts(X) - counts(ROWS)), rtol=0, atol=1e-12)
    if method == "riemann_trapezoid":  # whose weights sum to 6/7 in Captum
        assert delta.abs().max() < their_delta.abs().max()
        return
    torch.testing.assert_close(values, theirs, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(delta, their_delta, rtol=1e-5, atol=1e-6)


def test_tuples_of_inputs_come_back_as_tuples() -> None:
    parts, baselines = (X[:, :1], X[:, 1:].reshape(5, 1, 3)), (0.2, ROWS[:, 1:].reshape(5, 1, 3))
    theirs = IntegratedGradients(counts).attribute(parts, baselines, n_steps=200)
    values_of_parts = ours().attribute(parts, baselines)
    assert isinstance(values_of_parts, tuple)
    for values, their_values, part in zip(values_of_parts, theirs, parts, strict=True):
        assert values.shape == part.shape
        assert (values - their_values).abs().max() <= 1e-6


def test_float32_in_float32_out() -> None:
    values, delta = ours().attribute(X.float(), return_convergence_delta=True)
    assert values.dtype == delta.dtype == torch.float32
    torch.testing.assert_close(values.double(), ours().attribute(X), rtol=1e-5, atol=1e-6)


def test_captums_metrics_run_on_it() -> None:
    """Infidelity of exact attributions under the perturbation that removes everything is zero: completeness again."""
    ig = ours()
    attributions = ig.attribute(X, ROWS)
    removed = infidelity(ig.forward_func, lambda x: (x - ROWS, ROWS), X, attributions / (X - ROWS), n_perturb_samples=1)
    assert removed.abs().max() < 1e-10
    noise = infidelity(ig.forward_func, lambda x: (0.1 * x, 0.9 * x), X, attributions)
    assert noise.isfinite().all()
    torch.manual_seed(0)
    sensitivity = sensitivity_max(ig.attribute, X, perturb_radius=0.02, baselines=ROWS)
    assert sensitivity.shape == (5,)
    assert (sensitivity > 0).all()


def test_captums_noise_tunnel_takes_it() -> None:
    torch.manual_seed(0)
    smooth = NoiseTunnel(ours()).attribute(X, nt_type="smoothgrad", nt_samples=2, stdevs=1e-6)
    torch.testing.assert_close(smooth, ours().attribute(X), rtol=1e-3, atol=1e-4)


def test_captums_noise_tunnel_takes_it_without_the_check_of_types() -> None:
    """The check of these tests wraps every method, as NoiseTunnel expects; users do not have it."""
    program = """
import torch, gplens
from captum.attr import NoiseTunnel
from gplens.captum import GaussianProcessIntegratedGradients
X = torch.eye(2).double()
gp = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2).double()), X, X[0], noise=0.1)
ours = GaussianProcessIntegratedGradients(gp, gplens.links.Identity())
smooth = NoiseTunnel(ours).attribute(X, nt_type="smoothgrad", nt_samples=2, stdevs=1e-9, baselines=0.0)
print(float((smooth - ours.attribute(X, baselines=0.0)).abs().max()) < 1e-6)
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "True", run.stderr


def test_what_is_explained_can_be_chosen() -> None:
    ig = GaussianProcessIntegratedGradients(ONE, explained=gplens.targets.Latent())
    assert (ig.predict(X) - moments(ONE, X)[0]).abs().max() <= 1e-12
    assert (ig.attribute(X).sum(1) - (moments(ONE, X)[0] - moments(ONE, 0 * X)[0])).abs().max() <= 1e-9


REFUSED = {
    "arguments": ({"additional_forward_args": X}, naming("additional_forward_args", "None")),
    "batch": ({"internal_batch_size": 0}, naming("internal_batch_size", 1, 0)),
    "method": ({"method": "simpson"}, naming("method", *METHODS, "'simpson'")),
    "target of one output": ({"target": 0}, naming("target", "single output", 0)),
    "baseline": ({"baselines": ROWS[:2]}, naming("baseline", (5, 4), (2, 4))),
    "baselines": ({"baselines": (0, 0)}, naming("baselines", 1, 2)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    options, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        ours().attribute(X, **options)


@pytest.mark.parametrize("target", [None, 3, -1, [0, 1], [0, 1, 2, 0, 5], "a"])
def test_a_target_that_does_not_fit_is_refused(target: Any) -> None:
    with pytest.raises(ValueError, match=naming("target", 3, 5, repr(target))):
        ours(several=True).attribute(X, target=target)


def test_inputs_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=naming("(b, ...)", (5, 2), (3, 2))):
        ours().attribute((X[:, :2], X[:3, 2:]))
