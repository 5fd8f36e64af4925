"""Likelihoods that are a link near zero and something else far out: explained as they are there, or refused."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import RBFKernel, ScaleKernel
from gpytorch.likelihoods.likelihood import _OneDimensionalLikelihood
from gpytorch_models import Sparse
from torch import Tensor
from torch import distributions as dist
from torch.nn.functional import softplus

import gplens
from gplens.targets import Exceeds, PredictiveVariance, Response, Target
from seeds import fresh_seed

FAMILIES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "Normal": lambda f, s: dist.Normal(f, s),
    "Laplace": lambda f, s: dist.Laplace(f, s),
    "StudentT": lambda f, s: dist.StudentT(torch.full_like(f, 5.0), f, s),
    "softplus Poisson": lambda f, s: dist.Poisson(softplus(f)),
    "exp Poisson": lambda f, s: dist.Poisson(torch.exp(f)),
    "square Gamma": lambda f, s: dist.Gamma(2 * s, 2 * s / (1 + f**2)),
    "probit Bernoulli": lambda f, s: dist.Bernoulli(probs=dist.Normal(0.0, 1.0).cdf(f)),
    "logit Bernoulli": lambda f, s: dist.Bernoulli(logits=f),
    "Beta": lambda f, s: dist.Beta(1 + 3 * torch.sigmoid(f), 1 + 3 * torch.sigmoid(-f)),
    "NegativeBinomial": lambda f, s: dist.NegativeBinomial(softplus(f), 0.4 * torch.ones_like(f)),
}
CHANGES: dict[str, Callable[[Tensor, float], Tensor]] = {
    "none": lambda f, c: f,
    "clamped": lambda f, c: f.clamp(-c, c),
    "saturated": lambda f, c: torch.where(
        f.abs() < c, f, torch.sign(f) * (c + torch.log1p((f.abs() - c).clamp(min=0)))
    ),
    "shifted beyond": lambda f, c: f + 1.5 * (f > c),
    "bump": lambda f, c: f + 2 * torch.exp(-(((f - c) / 5) ** 2)),
    "reflected": lambda f, c: torch.where(f > c, 2 * c - f, f),
    "another scale": lambda f, c: f,
}
COUNTS = ("softplus Poisson", "exp Poisson", "NegativeBinomial")
"""Whose means vanish at large negative values."""


class Far(_OneDimensionalLikelihood):
    """One of the families, of latent values that are changed around or beyond a threshold."""

    def __init__(self, family: str, change: str, threshold: float) -> None:
        super().__init__()
        self.family, self.change, self.cfg = family, change, SimpleNamespace(threshold=threshold)
        self.tensors = [torch.tensor(threshold, dtype=torch.float64)]  # which a shadow copies

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Any:
        c = min(self.cfg.threshold, float(self.tensors[0]))
        scale = torch.full_like(function_samples, 0.7)
        if self.change == "another scale":
            scale = torch.where(function_samples.abs() < c, scale, 3 * scale)
        return FAMILIES[self.family](CHANGES[self.change](function_samples, c), scale)


def sparse(rng: np.random.Generator, mean: float, deviation: float) -> Any:
    torch.manual_seed(int(rng.integers(2**31)))
    Z = 3 * torch.rand(5, 2, dtype=torch.float64)
    model = Sparse(Z, ScaleKernel(RBFKernel()), gpytorch.means.ConstantMean()).double()
    model.mean_module.constant.data.fill_(mean)
    model.covar_module.outputscale = deviation**2
    strategy = model.variational_strategy
    strategy.variational_params_initialized.fill_(1)
    strategy._variational_distribution.variational_mean.data.normal_()
    strategy._variational_distribution.chol_variational_covar.data.mul_(0.3)
    return model.eval()


def expected(h: Callable[[Tensor], Tensor], m: float, v: float, threshold: float, t: float) -> float:
    """E h(f), f ~ N(m, v), by Gauss-Legendre panels that end where h changes, and where f is t."""
    sd = v**0.5
    ends = [(side * threshold + step - m) / sd for side in (-1, 1) for step in (-15, -5, 0, 5, 15)] + [(t - m) / sd]
    grid = np.unique(np.concatenate([np.linspace(-15, 15, 121), [z for z in ends if abs(z) < 15]]))
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half, middle = np.diff(grid)[:, None] / 2, (grid[1:] + grid[:-1])[:, None] / 2
    z = (middle + half * nodes).ravel()
    density = (half * weights).ravel() * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return float(density @ h(torch.as_tensor(m + sd * z)).numpy())


def truth(target: Target, likelihood: Any, m: float, v: float) -> float:
    """The response, the variance or the tail, from the live likelihood's own distribution."""
    threshold = min(likelihood.cfg.threshold, float(likelihood.tensors[0]))
    t = float(target.threshold) if isinstance(target, Exceeds) else 0.0

    def average(h: Callable[[Any], Tensor]) -> float:
        return expected(lambda f: h(likelihood.forward(f)), m, v, threshold, t)

    if isinstance(target, Response):
        return average(lambda y: y.mean)
    if isinstance(target, PredictiveVariance):
        centre = likelihood.forward(torch.tensor([m], dtype=torch.float64)).mean
        between = average(lambda y: (y.mean - centre) ** 2) - average(lambda y: y.mean - centre) ** 2
        return average(lambda y: y.variance) + between
    if likelihood.family in ("Normal", "Laplace"):
        return average(lambda y: 1 - y.cdf(torch.full_like(y.mean, t)))
    return average(lambda y: (y.mean if t < 1 else 0 * y.mean) if t >= 0 else 0 * y.mean + 1)  # of a class


def check(seed: int, case: int) -> str:
    """Right to 1e-6, or refused; and never refused where nothing changes where the likelihood is asked."""
    rng = np.random.default_rng([seed, case])
    family, change = str(rng.choice(list(FAMILIES))), str(rng.choice(list(CHANGES)))
    threshold = float(np.exp(rng.uniform(np.log(55), np.log(150 if "exp" in family else 1e5))))
    centre = float(threshold * rng.choice([0.01, 0.5, 0.9, 1.0, 1.1, 1.3, 1.9]))
    centre *= -1 if family not in COUNTS and rng.random() < 0.5 else 1
    deviation = float(np.exp(rng.uniform(-2, 1)))
    model, likelihood = sparse(rng, centre, deviation), Far(family, change, threshold)
    target: Target = [Response(), PredictiveVariance()][rng.integers(2)]
    if "Bernoulli" in family or (family in ("Normal", "Laplace") and rng.random() < 0.5):
        target = Exceeds(0.5 if "Bernoulli" in family else centre + float(rng.normal()))
    X, x0 = torch.as_tensor(3 * rng.random((2, 2))), torch.as_tensor(3 * rng.random(2))
    label = f"seed {seed}, case {case}: {family}, {change} at {threshold:.6g}, m = {centre:.6g}, {target}"
    late = change != "none" and rng.random() < 0.3
    subject: Any = model
    if late:  # the change is made after the model was read, in an attribute that is shared or copied
        likelihood.cfg.threshold = np.inf
        likelihood.tensors[0].fill_(torch.inf)
        subject = gplens.read(model, likelihood)
        likelihood.cfg.threshold = threshold if rng.random() < 0.5 else np.inf
        likelihood.tensors[0].fill_(threshold)
    with torch.no_grad():
        f = model(torch.cat([X, x0[None]]))
    try:
        e = gplens.explain(subject, X, baseline=x0, likelihood=None if late else likelihood, target=target)
    except (ValueError, ArithmeticError) as error:
        probed = 2 * (f.mean.abs() + 9 * f.variance.sqrt()).max()  # a wide range is asked at twice its width
        changes = late or bool(probed > threshold - 40)
        if change == "none" or not changes or "expected" not in str(error):
            raise AssertionError(label) from error
        return "refused"
    truths = [truth(target, likelihood, float(m), float(v)) for m, v in zip(f.mean, f.variance, strict=True)]
    size = max(1e-2, *(abs(number) for number in truths))
    got = [*e.prediction.tolist(), float(e.baseline_prediction[0])]
    assert got == pytest.approx(truths, rel=1e-6, abs=1e-7 * size), label
    assert e.values.sum(1).numpy() == pytest.approx(np.array(truths[:2]) - truths[2], abs=1e-6 * size), label
    return "late" if late else "right"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the attributions:gplens.ConvergenceWarning")
def test_random_likelihoods_that_change_far_out() -> None:
    outcomes = [check(0, case) for case in range(24)]
    assert outcomes.count("right") > 10


def test_a_variance_that_an_event_far_out_decides_is_refused() -> None:
    """exp(f) is clamped 12 deviations below m: all means are equal, and yet Var E[y|f] is 1e25 times E Var[y|f]."""
    assert check(3935785208, 194) == "refused"


def test_a_change_outside_of_all_paths_but_within_twice_their_range() -> None:
    """The scale of a Laplace distribution changes at |f| = 79, where |f| < 75: its tail has a kink, and is refused."""
    assert check(7, 81) == "refused"


class TwoNoises(_OneDimensionalLikelihood):
    """Where |f| < 60, E y^2 is the mean, as for a Bernoulli distribution, and beyond it is not."""

    def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Any:
        f = function_samples
        near = torch.sqrt(torch.sigmoid(f) * torch.sigmoid(-f))
        return dist.Normal(torch.sigmoid(f), torch.where(f.abs() < 60, near, 0.7 * torch.ones_like(f)))


@pytest.mark.parametrize(
    ("likelihood", "mean", "expected"),
    [(Far("Normal", "another scale", 100.0), 130.0, 2.1**2), (TwoNoises(), 80.0, 0.7**2)],
    ids=["another scale", "another second moment"],
)
def test_a_noise_that_is_another_one_far_out(likelihood: Any, mean: float, expected: float) -> None:
    """The mean is a closed form everywhere, and so is the variance or the second moment where |f| < 50."""
    model, X = sparse(np.random.default_rng(1), mean, 0.3), torch.tensor([[0.4, 2.0]], dtype=torch.float64)
    e = gplens.explain(model, X, baseline=0.0, likelihood=likelihood, target=PredictiveVariance())
    between = model(X).variance.item() if isinstance(likelihood, Far) else 0.0
    assert float(e.prediction[0]) == pytest.approx(expected + between, rel=1e-8)


@pytest.mark.parametrize(
    ("change", "target"), [("clamped", Response()), ("another scale", PredictiveVariance())], ids=["mean", "variance"]
)
def test_a_likelihood_that_has_changed_far_out_since_it_was_read(change: str, target: Target) -> None:
    """Near zero it is the one that was read, of which a copy is explained: only the live one's values tell."""
    model, likelihood = sparse(np.random.default_rng(1), 130.0, 1.0), Far("Normal", change, np.inf)
    reading, x = gplens.read(model, likelihood), torch.tensor([[0.4, 2.0]], dtype=torch.float64)
    gplens.explain(reading, x, baseline=0.0, target=target)
    likelihood.tensors[0].fill_(100.0)
    with pytest.raises(ValueError, match="forward"):
        gplens.explain(reading, x, baseline=0.0, target=target)


@pytest.mark.parametrize("g", [softplus, torch.tanh], ids=lambda g: g.__name__)
@pytest.mark.parametrize("offset", [-1e3, 1e6])
def test_the_variance_of_a_mean_with_a_large_offset(g: Callable[[Tensor], Tensor], offset: float) -> None:
    """By a closed form and by quadrature: neither subtracts squares of the offset."""

    class Offset(_OneDimensionalLikelihood):
        def forward(self, function_samples: Tensor, *args: Any, **kwargs: Any) -> Any:
            return dist.Normal(offset + g(function_samples), 0.1 * torch.ones_like(function_samples))

    model, X = sparse(np.random.default_rng(1), 0.3, 1.0), torch.tensor([[0.4, 2.0], [1.5, 1.0]], dtype=torch.float64)
    with torch.no_grad():
        f = model(X)
    e = gplens.explain(model, X[:1], baseline=X[1], likelihood=Offset(), target=PredictiveVariance())
    for got, m, v in zip([e.prediction, e.baseline_prediction], f.mean.tolist(), f.variance.tolist(), strict=True):
        moments = [
            expected(lambda f, k=k, m=m: (g(f) - g(torch.tensor(m).double())) ** k, m, v, 1e3, 0.0) for k in (1, 2)
        ]
        assert float(got[0]) == pytest.approx(0.01 + moments[1] - moments[0] ** 2, rel=1e-7)
    assert bool(e.converged.all())


@pytest.mark.filterwarnings("ignore::gplens.ConvergenceWarning")
@pytest.mark.slow
def test_random_likelihoods_with_another_seed() -> None:
    seed = fresh_seed()
    outcomes = [check(seed, case) for case in range(400)]
    assert outcomes.count("right") > 150, f"seed {seed}"
