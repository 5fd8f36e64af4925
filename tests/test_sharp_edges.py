"""docs/SHARP_EDGES.md: what it says of other libraries and of gplens is so. The rest of it is tested elsewhere."""

import subprocess
import sys
import warnings
from typing import Any

import gpytorch
import matplotlib.figure
import numpy as np
import pytest
import torch
from torch.nn.functional import softplus

import gplens
from gplens.estimators import GPVarianceRegressor
from gplens.estimators.gp_models import Sparse, kernel_of
from gplens.links import Exp, Identity, Quadrature

X = torch.randn(20, 2, generator=torch.Generator().manual_seed(0)).double()
y = torch.sin(X).sum(1)
RBF = gplens.kernels.RBF(torch.ones(2).double())
GP = gplens.Posterior.exact(RBF, X, y, noise=0.1)


def sparse(latents: int | None = None) -> Any:
    """A GPyTorch model with a random q(u)."""
    torch.manual_seed(0)
    model = Sparse(X[:6].clone(), kernel_of("rbf", 2, None), gpytorch.means.ZeroMean(), latents=latents, jitter=1e-6)
    model = model.double().eval().requires_grad_(False)
    model.q.variational_mean.copy_(torch.randn(model.q.variational_mean.shape))
    return model


class Regression(gpytorch.models.ExactGP):
    def __init__(self, X: torch.Tensor, y: torch.Tensor, likelihood: Any, kernel: Any) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module, self.covar_module = gpytorch.means.ZeroMean(), kernel

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_baselines_give_different_answers_that_are_equally_exact() -> None:
    Mean, Zeros, Sample = gplens.baselines.Mean, gplens.baselines.Zeros, gplens.baselines.Sample
    answers = [gplens.explain(GP, X[:3], baseline=b, likelihood=Exp()) for b in (Mean(X[:9]), Zeros(), Sample(X[:9]))]
    for i, e in enumerate(answers):
        assert float(e.gap.abs().max()) < 1e-6
        assert not any(torch.allclose(e.values, other.values, atol=1e-3) for other in answers[:i])


def test_far_from_its_data_a_process_returns_to_its_prior() -> None:
    far = torch.full((1, 2), 100.0).double()
    assert float(GP.m(far)) == pytest.approx(0, abs=1e-12)
    assert float(GP.v(far)) == pytest.approx(1, abs=1e-12)


def test_a_feature_has_an_attribution_because_it_changes_the_variance() -> None:
    """A mean of zero everywhere, and a variance that grows away from the data."""
    sure = gplens.Posterior.exact(RBF, X[:1], torch.zeros(1).double(), noise=0.1)
    response, latent = (
        gplens.explain(sure, X[:1] + 1, baseline=X[:1], likelihood=Exp(), target=target)
        for target in (None, gplens.targets.Latent())
    )
    assert float(response.values.min()) > 0.01
    assert float(latent.values.abs().max()) == 0


def test_gpytorchs_mean_of_a_poisson_is_random_and_gplens_explains_its_expectation() -> None:
    """Ten draws by default."""
    model, likelihood = sparse(), gpytorch.likelihoods.PoissonLikelihood()
    assert gpytorch.settings.num_likelihood_samples.value() == 10
    with torch.no_grad():
        torch.manual_seed(0)
        first, second = (likelihood(model(X[:1])).mean for _ in range(2))
        assert first.shape[0] == 10
        assert not torch.equal(first, second)
        with gpytorch.settings.num_likelihood_samples(200_000):
            average = float(likelihood(model(X[:1])).mean.mean())
    e = gplens.explain(model, X[:1], baseline=0.0, likelihood=likelihood)
    assert float(e.prediction) == pytest.approx(average, rel=0.01)


def test_torchs_softplus_jumps_at_20() -> None:
    below, above = (softplus(torch.tensor(f, dtype=torch.float64)) for f in (20.0, np.nextafter(20.0, 21.0)))
    assert 1.9e-9 < float(below - above) < 2.1e-9
    f = torch.linspace(-50, 50, 1001, dtype=torch.float64)
    assert float((torch.logaddexp(f, torch.zeros(())) - softplus(f)).abs().max()) < 2.1e-9


def test_correlated_classes_have_a_standard_error_and_independent_ones_do_not() -> None:
    model, softmax = sparse(3), gpytorch.likelihoods.SoftmaxLikelihood
    mixed = softmax(num_features=3, num_classes=3).double()
    assert mixed.mixing_weights is not None
    with torch.no_grad():
        e = gplens.explain(model, X[:1], baseline=0.0, likelihood=mixed)
        plain = gplens.explain(model, X[:1], baseline=0.0, likelihood=softmax(num_classes=3, mixing_weights=False))
    assert e.standard_error is not None
    assert e.provenance.tolerance == 1e-4
    assert plain.standard_error is None
    assert plain.provenance.tolerance == 1e-6


@pytest.mark.filterwarnings("ignore::gpytorch.utils.warnings.GPInputWarning")
def test_gpytorchs_fixed_noise_predicts_without_noise_and_warns_at_new_inputs() -> None:
    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(torch.full((20,), 0.3).double())
    model = Regression(X, y, likelihood, gpytorch.kernels.RBFKernel()).double().eval()
    likelihood.eval()
    with torch.no_grad(), pytest.warns(UserWarning, match="noise"):
        latent, predicted = model(X[:1] + 0.3), likelihood(model(X[:1] + 0.3))
    torch.testing.assert_close(predicted.variance, latent.variance, rtol=1e-3, atol=1e-4)
    options: dict[str, Any] = {"baseline": 0.0, "target": gplens.targets.PredictiveVariance()}
    e = gplens.explain(model, X[:1] + 0.3, **options)
    torch.testing.assert_close(e.prediction, latent.variance + 0.3, rtol=1e-6, atol=1e-8)


@pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning")
def test_shaps_waterfall_is_labelled_as_the_expectation_of_f() -> None:
    import matplotlib.pyplot as plt
    import shap

    e = gplens.explain(GP, X[:1], baseline=0.0, likelihood=Identity())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shap.plots.waterfall(e.to_shap()[0], show=False)
        figure: matplotlib.figure.Figure = plt.gcf()
        figure.canvas.draw()
    labels = [tick.get_text() for axes in figure.axes for tick in axes.get_xticklabels()]
    plt.close(figure)
    assert any("E[f(X)]" in label for label in labels)


def test_a_kink_is_refused_where_it_has_weight_and_not_seen_at_m_where_v_is_zero() -> None:
    relu, zero = Quadrature(torch.relu), torch.zeros(1).double()
    with pytest.raises((ValueError, ArithmeticError), match="relu"):
        relu.moments(zero, zero + 1)
    assert float(relu.moments(zero, zero).value) == 0


def test_the_floor_of_the_variance_is_one_percent_of_the_mean_square() -> None:
    """E 1/f^2 diverges for every Gaussian f, as its Gauss-Hermite sums show."""
    r = np.random.default_rng(0)
    inputs, targets = r.normal(size=(30, 2)), r.normal(size=30)
    model = GPVarianceRegressor(inducing_points=4, random_state=0).fit(inputs, targets)
    assert float(model.likelihood_.floor) == pytest.approx(0.01 * (targets**2).mean(), rel=1e-6)


@pytest.mark.filterwarnings("ignore::gpytorch.utils.warnings.NumericalWarning")
def test_gpytorch_uses_conjugate_gradients_above_800_points_and_gplens_a_cholesky_factor() -> None:
    ask = "import gpytorch.settings as s; print(s.max_cholesky_size.value(), s.eval_cg_tolerance.value())"
    alone = subprocess.run(
        [sys.executable, "-c", ask], capture_output=True, text=True, check=True
    )  # BoTorch changes it
    assert alone.stdout.split() == ["800", "0.01"]
    many = torch.randn(820, 2, generator=torch.Generator().manual_seed(1)).double()
    targets = torch.sin(many).sum(1)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Regression(many, targets, likelihood, gpytorch.kernels.RBFKernel()).double().eval()
    likelihood.noise = 0.01
    e = gplens.explain(model, many[:2] + 0.1, baseline=0.0)
    with torch.no_grad():
        K = model.covar_module(many).to_dense() + 0.01 * torch.eye(820).double()
        k = model.covar_module(many[:2] + 0.1, many).to_dense()
    torch.testing.assert_close(e.prediction, k @ torch.linalg.solve(K, targets), rtol=1e-8, atol=1e-8)


def test_gpytorchs_cosine_kernel_is_no_kernel_in_two_dimensions() -> None:
    """Positive semi-definite on a line, indefinite on a plane."""
    kernel = gpytorch.kernels.CosineKernel().double()
    with torch.no_grad():
        line, plane = (kernel(points).to_dense() for points in (X[:, :1], X))
    assert float(torch.linalg.eigvalsh(line).min()) > -1e-9
    assert float(torch.linalg.eigvalsh(plane).min()) < -0.1


def test_paths_through_a_support_point_of_matern_three_halves_take_more_nodes() -> None:
    kernel = gplens.kernels.Matern32(torch.ones(2).double())
    gp = gplens.Posterior.exact(kernel, torch.zeros(1, 2).double(), torch.ones(1).double(), noise=0.01)
    end, aside = torch.tensor([[1.0, 0.0]]).double(), torch.tensor([[0.0, 1.0]]).double()
    through = gplens.explain(gp, end, baseline=-0.9 * end, likelihood=Exp())
    beside = gplens.explain(gp, end + aside, baseline=aside - 0.9 * end, likelihood=Exp())
    assert int(through.nodes) > int(beside.nodes)


def test_almost_black_pixels_have_the_largest_values_when_columns_are_standardised() -> None:
    pixels = gplens.datasets.digits().X
    deviation = pixels.std(0)
    lit = deviation > 0
    largest = ((pixels - pixels.mean(0)) / deviation)[:, lit].abs().max(0).values
    seldom = (pixels[:, lit] > 0).double().mean(0)
    assert float(seldom[largest.argmax()]) < 0.01
    assert float(largest[seldom > 0.9].max()) < float(largest.max()) / 5
