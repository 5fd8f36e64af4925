"""Variances, tails and error bars against BoTorch's own posterior; transforms in all their settings."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Log, Standardize
from botorch.models.transforms.input import (
    ChainedInputTransform,
    FilterFeatures,
    InputStandardize,
    InputTransform,
    Log10,
    Normalize,
    Warp,
)
from botorch_zoo import (
    EVERY_MODEL,
    PLANE,
    branin,
    drawn,
    fixed_noise,
    model_list,
    predicted,
    several_outputs,
    single_task,
)
from gpytorch.kernels import MaternKernel, ScaleKernel
from scipy.stats import norm
from torch import Tensor

import gplens
from conformance.hosts import fitted
from gplens.targets import EpistemicVariance, Exceeds, PredictiveVariance

pytestmark = [
    pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.BotorchWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),  # torch, where tasks are looked up
]
INPUTS = torch.as_tensor(PLANE[0]) / 15
START = torch.as_tensor(PLANE[1]) / 15


@pytest.mark.parametrize("make", [single_task, several_outputs, fixed_noise])
def test_variances_are_what_botorch_prints(make: Callable[[], Any]) -> None:
    subject = make()
    X = subject.train_inputs[0].reshape(-1, subject.train_inputs[0].shape[-1])[:3].clone() + 0.01
    for target, noisy in ((PredictiveVariance(), True), (EpistemicVariance(), False)):
        e = gplens.explain(subject, X, baseline=X.mean(0), target=target, tolerance=1e-8)
        expected = subject.posterior(X, observation_noise=noisy).variance
        torch.testing.assert_close(e.prediction.reshape(expected.shape), expected, rtol=1e-7, atol=1e-8)
        assert e.gap.abs().max() <= 1e-7 * expected.max()


def test_variances_of_draws_are_those_of_botorchs_mixture() -> None:
    subject = drawn(outcome_transform=Standardize(m=1))
    for target, noisy in ((PredictiveVariance(), True), (EpistemicVariance(), False)):
        e = gplens.explain(subject, INPUTS, baseline=START, target=target, tolerance=1e-8)
        expected = subject.posterior(INPUTS, observation_noise=noisy).mixture_variance[:, 0]
        torch.testing.assert_close(e.prediction, expected, rtol=1e-8, atol=1e-10)
        assert e.gap.abs().max() <= 1e-7 * expected.max()


@pytest.mark.parametrize("outcome", [None, Log()], ids=["identity", "logarithm"])
def test_tails_are_those_of_a_noisy_posterior(outcome: Log | None) -> None:
    X, Y = branin()
    subject = SingleTaskGP(X / 15, Y.abs() / 50 + 0.1, outcome_transform=outcome)
    e = gplens.explain(subject, INPUTS, baseline=START, target=Exceeds(0.7))
    posterior = subject.posterior(INPUTS, observation_noise=True)
    inner = posterior if outcome is None else posterior._posterior
    level = 0.7 if outcome is None else np.log(0.7)
    expected = norm.sf(level, inner.mean[:, 0].detach(), inner.variance[:, 0].detach().sqrt())
    np.testing.assert_allclose(e.prediction.numpy(), expected, rtol=0, atol=1e-9)


def test_tails_of_draws_are_averages() -> None:
    subject = drawn()
    e = gplens.explain(subject, INPUTS, baseline=START, target=Exceeds(-0.5))
    each = subject.posterior(INPUTS, observation_noise=True)
    expected = norm.sf(-0.5, each.mean[..., 0].detach(), each.variance[..., 0].detach().sqrt()).mean(0)
    np.testing.assert_allclose(e.prediction.numpy(), expected, rtol=0, atol=1e-9)


def test_the_error_bars_of_draws_are_those_of_models_made_of_them() -> None:
    """(5.17) from a SingleTaskGP for each draw, explained alone."""
    subject, (X, Y) = drawn(), branin()
    ask = partial(gplens.explain, X=INPUTS[:1], baseline=START, uncertainty=gplens.Full(tolerance=1e-5), tolerance=1e-5)
    e, alone = ask(subject), []
    for i in range(3):
        kernel = ScaleKernel(MaternKernel(nu=2.5, ard_num_dims=2))
        item = SingleTaskGP(X[:10] / 15, Y[:10] / 50, covar_module=kernel, outcome_transform=None)
        kernel.outputscale = subject.covar_module.outputscale[i]
        kernel.base_kernel.lengthscale = subject.covar_module.base_kernel.lengthscale[i]
        item.mean_module.constant.data = subject.mean_module.constant[i].detach()
        item.likelihood.noise = subject.likelihood.noise[i]
        alone.append(ask(item))
    values, covariances = (torch.stack([getattr(item, name)[0] for item in alone]) for name in ("values", "covariance"))
    apart = values - values.mean(0)
    assert e.covariance is not None
    torch.testing.assert_close(e.values[0], values.mean(0), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(e.covariance[0], covariances.mean(0) + apart.T @ apart / 3, rtol=1e-3, atol=1e-6)
    assert (e.covariance[0].diagonal() > covariances.mean(0).diagonal()).all()


def test_the_second_completeness_law_holds_against_botorchs_joint_posterior() -> None:
    """sum_kl Cov(IG_k, IG_l) = Var(f(x) - f(x0)), in raw units, through straight and curved input transforms (5.3)."""
    curved = ChainedInputTransform(log=Log10(indices=[0]), warp=Warp(d=2, indices=[1]), scale=InputStandardize(d=2))
    X, Y = branin()
    for inputs in (Normalize(d=2), curved):
        subject = SingleTaskGP(X / 15 + 0.5, Y, input_transform=inputs)
        x, x0 = INPUTS + 0.5, START + 0.5
        e = gplens.explain(subject, x, baseline=x0, uncertainty=gplens.Full(tolerance=1e-6), tolerance=1e-6)
        for i in range(2):
            c = subject.posterior(torch.stack([x[i], x0])).covariance_matrix.detach()
            assert e.covariance is not None
            total = c[0, 0] + c[1, 1] - 2 * c[0, 1]
            torch.testing.assert_close(e.covariance[i].sum(), total, rtol=1e-4, atol=1e-8)


def reversed_scale() -> InputTransform:
    return Normalize(d=2, bounds=torch.tensor([[0.1, 0.2], [0.7, 0.6]]).double(), reverse=True)


def chained() -> InputTransform:
    return ChainedInputTransform(a=InputStandardize(d=2), b=Normalize(d=2), c=FilterFeatures(torch.tensor([1])))


TRANSFORMS = {
    "one column": lambda: Normalize(d=2, indices=[1]),
    "centred": lambda: Normalize(d=2, center=0.0),
    "reversed": reversed_scale,
    "only in training": lambda: InputStandardize(d=2, transform_on_eval=False, transform_on_train=False),
    "chain": chained,
    "powers of ten": lambda: Log10(indices=[0], reverse=True),
    "warp of one column": lambda: Warp(d=2, indices=[1]),
    "warp after a scale": lambda: ChainedInputTransform(a=Normalize(d=2), b=Warp(d=2, indices=[0, 1])),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_sums_are_differences_of_the_posterior_mean(name: str) -> None:
    X, Y = branin()
    subject = SingleTaskGP(X / 15, Y, input_transform=TRANSFORMS[name]())
    for part in subject.modules():
        if isinstance(part, Warp):
            part._set_concentration(0, 1.7)
            part._set_concentration(1, 0.8)
    e = gplens.explain(subject, INPUTS, baseline=START, tolerance=1e-9)
    change = predicted(subject, INPUTS.numpy()) - predicted(subject, START[None].numpy())
    size = 1 + abs(predicted(subject, INPUTS.numpy())).max()
    assert np.abs(e.values.sum(1).numpy() - change).max() <= 1e-8 * size
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t, w = torch.as_tensor((nodes + 1) / 2)[:, None, None], torch.as_tensor(weights / 2)[:, None, None]
    slopes = autograd(subject, START + t * (INPUTS - START))
    oracle = (INPUTS - START) * (w * slopes).sum(0)
    assert (e.values - oracle).abs().max() <= 1e-6 * oracle.abs().max()


def autograd(model: SingleTaskGP, points: Tensor) -> Tensor:
    """d posterior(X).mean / dX by BoTorch's own graph."""
    x = points.flatten(0, 1).clone().requires_grad_()
    (slopes,) = torch.autograd.grad(model.posterior(x).mean.sum(), x)
    return slopes.view_as(points)


def test_names_of_outputs_and_one_of_them() -> None:
    subject, (X, x0) = model_list(), PLANE
    e = gplens.explain(subject, X, baseline=x0, tolerance=1e-8)
    item = gplens.explain(subject, X, baseline=x0, outputs=[1], tolerance=1e-8)
    assert e.output_names == ("output 0", "output 1")
    torch.testing.assert_close(item.values[:, 0], e.values[:, 1], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", EVERY_MODEL, ids=repr)
def test_provenance_says_how_the_model_was_read(case: Any) -> None:
    subject = fitted(case)
    provenance = gplens.explain(subject.model, subject.X[:1], baseline=subject.baseline).provenance
    by_mean = ("MultiTaskGP", "draws of tasks")
    curved = case.name in ("logarithms", "Warp", "draws with input warping", *by_mean)
    assert provenance.gradients == ("autograd" if curved else "closed form")
    assert provenance.model == type(subject.model).__name__
    assert provenance.likelihood == "BoTorch's posterior mean"
    assert any("m and v equal the host's in torch.float64" in note for note in provenance.notes)


def test_single_precision() -> None:
    """A model in float32 is explained as its copy in float64 predicts, and says how far its own prediction is."""
    X, Y = branin()
    with warnings.catch_warnings(action="ignore"):
        subject = SingleTaskGP(X.float(), Y.float(), input_transform=Normalize(d=2))
    e = gplens.explain(subject, PLANE[0], baseline=PLANE[1])
    mean = subject.posterior(torch.as_tensor(PLANE[0]).float()).mean[:, 0].double()
    assert (e.prediction - mean).abs().max() < 1e-3 * mean.abs().max()
    assert sum("m and v equal the host's" in note for note in e.provenance.notes) == 2
