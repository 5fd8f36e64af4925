"""m, v, c and their gradients against dense algebra and autograd."""

import inspect

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from conformance.zoo import EVERY_POSTERIOR, FEATURES, KERNELS, KernelCase, fitted, generator, normal, rbf, seeds
from gplens import Posterior, Quadratic
from gplens.kernels import RBF, Linear
from gplens.means import AutogradMean, ConstantMean, LinearMean
from messages import naming
from oracles.dense import DensePosterior, fit, gradient

every_posterior = pytest.mark.parametrize("case", EVERY_POSTERIOR, ids=repr)
WEIGHT = torch.tensor([0.5, -1.0, 0.0, 2.0]).double()


@every_posterior
@given(seed=seeds)
def test_marginals_and_gradients_are_those_of_dense_algebra(case: KernelCase, seed: int) -> None:
    """(1.1), (1.2) and their gradients (1.4), (1.5)."""
    (posterior, dense), X = fitted(case, seed), normal(generator(seed), 4, FEATURES)
    torch.testing.assert_close(posterior.m(X)[:, 0], dense.m(X), rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(posterior.v(X)[:, 0], dense.v(X), rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(posterior.m_gradient(X)[:, 0], gradient(dense.m, X), rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(posterior.v_gradient(X)[:, 0], gradient(dense.v, X), rtol=1e-9, atol=1e-9)


@every_posterior
@given(seed=seeds)
def test_covariance_and_its_gradient_are_those_of_dense_algebra(case: KernelCase, seed: int) -> None:
    """(1.3), and Cov(d_k f(x), f(y))  (1.6)."""
    posterior, dense = fitted(case, seed)
    X, Y = normal(generator(seed), 3, FEATURES), normal(generator(seed + 9), 2, FEATURES)
    torch.testing.assert_close(posterior.c(X, Y)[:, 0], dense.c(X[:, None], Y[None]), rtol=1e-9, atol=1e-10)
    gradients = posterior.c_gradient(X, Y)[:, 0]
    for j in range(2):
        expected = gradient(lambda x, y=Y[j]: dense.c(x, y), X)
        torch.testing.assert_close(gradients[:, j], expected, rtol=1e-9, atol=1e-9)


def several(seed: int, *, shared: bool) -> tuple[Posterior, list[DensePosterior]]:
    """Three latents with one kernel and Z, means of their own, and A shared or not."""
    g = generator(seed)
    (kernel, k), Z = rbf(g), normal(g, 6, FEATURES)
    noises = [0.1] * 3 if shared else [0.1, 0.2, 0.5]
    dense = [fit(k, Z, normal(g, 6), noise) for noise in noises]
    dense[0].mu, dense[1].mu = (lambda x: 0.4 + 0 * x[..., 0]), (lambda x: (x * WEIGHT).sum(-1) - 1)
    dense[2].mu = lambda x: x[..., 1] ** 2
    means = [ConstantMean(0.4), LinearMean(WEIGHT, -1.0), AutogradMean(lambda X: X[:, 1] ** 2)]
    A = dense[0].A if shared else torch.stack([latent.A for latent in dense])
    return Posterior(kernel, Z, torch.stack([latent.beta for latent in dense]), A, means), dense


@pytest.mark.parametrize("shared", [True, False], ids=["one A", "an A for each"])
@given(seed=seeds)
def test_several_latents_are_several_posteriors(shared: bool, seed: int) -> None:
    (posterior, dense), X = several(seed, shared=shared), normal(generator(seed), 4, FEATURES)
    Y = X[:2] + 0.5
    for i, latent in enumerate(dense):
        torch.testing.assert_close(posterior.m(X)[:, i], latent.m(X), rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(posterior.v(X)[:, i], latent.v(X), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(posterior.c(X, Y)[:, i], latent.c(X[:, None], Y[None]), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(posterior.m_gradient(X)[:, i], gradient(latent.m, X), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(posterior.v_gradient(X)[:, i], gradient(latent.v, X), rtol=1e-9, atol=1e-9)


def test_jitter_is_added_to_the_variance_and_not_to_the_covariance() -> None:
    plain, dense = fitted(KERNELS["rbf"], 0)
    posterior = Posterior(plain.kernel, plain.Z, plain.beta, dense.A, jitter=1e-3)
    X = normal(generator(0), 3, FEATURES)
    torch.testing.assert_close(posterior.v(X), plain.v(X) + 1e-3)
    torch.testing.assert_close(posterior.c(X, X), plain.c(X, X))


def without_checks(*parts: object) -> None:
    """What a user meets, for whom no axis is checked at run time."""
    inspect.unwrap(Posterior.__init__)(object.__new__(Posterior), *parts)


kernel, Z = RBF(torch.ones(1, dtype=torch.float64)), normal(generator(0), 4, 3)
eye = torch.eye(4, dtype=torch.float64)


@pytest.mark.parametrize(
    ("beta", "A", "mean", "message"),
    [
        (torch.zeros(5).double(), eye, None, naming("beta", "A", "Z", 4, 5)),
        (torch.zeros(4).double(), torch.eye(3).double(), None, naming("beta", "A", "Z", 4, 3)),
        (torch.zeros(3, 4).double(), eye.expand(2, 4, 4), None, naming("beta", 3, "2 matrices A", "3 means")),
        (torch.zeros(3, 4).double(), eye, [ConstantMean()] * 2, naming("beta", 3, "1 matrices A", "2 means")),
        (torch.tensor([0, 1, torch.nan, 0]).double(), eye, None, naming("finite", 1, "beta")),
        (
            torch.zeros(4).double(),
            Quadratic(eye[None] * torch.inf, torch.ones(1, 4).double()),
            None,
            naming("finite", 16, "A"),
        ),
    ],
    ids=["size of beta", "size of A", "number of A", "number of means", "NaN in beta", "infinite A"],
)
def test_parts_that_do_not_fit_are_refused(
    beta: Tensor, A: Tensor | Quadratic, mean: list | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        without_checks(kernel, Z, beta, A, mean)


def test_a_negative_variance_is_refused_with_both_numbers() -> None:
    """A = 3 I gives v(z) < 1 - 3 at a support point."""
    posterior = Posterior(RBF(torch.tensor([0.01]).double()), Z, torch.zeros(4).double(), 3 * eye)
    with pytest.raises(ArithmeticError, match=naming("variance", -2, 1, "prior")):
        posterior.v(Z)


def test_a_negative_variance_is_named_even_where_another_input_has_no_prior_variance() -> None:
    """The linear kernel has k(0, 0) = 0; v / k(x, x) is 0/0 there."""
    posterior = Posterior(Linear(torch.ones(1).double()), Z[:, :1], torch.zeros(4).double(), 100 * eye)
    with pytest.raises(
        ArithmeticError, match=naming("variance", f"{4 - 100 * 4 * float((Z[:, 0] ** 2).sum()):.3g}", 4, "prior")
    ):
        posterior.v(torch.tensor([[0.0], [2.0]]).double())


def test_rounding_below_zero_counts_as_zero() -> None:
    """Without noise v vanishes at the support points."""
    (kernel, _), Z = rbf(generator(3)), normal(generator(4), 6, FEATURES)
    A = torch.linalg.inv(kernel(Z, Z))
    v = Posterior(kernel, Z, torch.zeros(6).double(), (A + A.T) / 2).v(Z)
    assert (v >= 0).all()
    assert v.max() < 1e-9


@given(seed=seeds)
def test_exact_regression_is_that_of_dense_algebra(seed: int) -> None:
    """beta = (K + noise)^-1 (y - mu),  A = (K + noise)^-1."""
    g = generator(seed)
    (kernel, k), Z, y = rbf(g), normal(g, 6, FEATURES), normal(g, 6)
    dense, X = fit(k, Z, y - (Z @ WEIGHT - 1), 0.2), normal(g, 4, FEATURES)
    posterior = Posterior.exact(kernel, Z, y, noise=0.2, mean=LinearMean(WEIGHT, -1.0))
    torch.testing.assert_close(posterior.m(X)[:, 0], dense.m(X) + X @ WEIGHT - 1, rtol=1e-10, atol=1e-11)
    torch.testing.assert_close(posterior.v(X)[:, 0], dense.v(X), rtol=1e-9, atol=1e-10)


def test_exact_regression_without_noise_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("noise", 0.0)):
        Posterior.exact(kernel, Z, torch.zeros(4).double(), noise=0.0)


def test_single_precision_is_refused() -> None:
    with pytest.raises(TypeError, match=naming("Z", "beta", "A", "float64", "torch.float32", ".double()")):
        without_checks(kernel, Z.float(), torch.zeros(4), torch.eye(4))


def test_arrays_of_any_library_become_a_posterior() -> None:
    """Lists, float32 and read-only arrays, with one latent function or two."""
    kernel, A = RBF(torch.ones(1, dtype=torch.float64)), np.eye(3, dtype=np.float32) / 2
    Z, beta = [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]], np.array([1.0, -1.0, 0.5])
    beta.flags.writeable = False
    posterior = Posterior.from_arrays(kernel, Z, beta, A, jitter=0.1)
    assert posterior.beta.shape == (1, 3)
    expected = kernel(posterior.Z, posterior.Z) @ torch.tensor([1.0, -1.0, 0.5]).double()
    torch.testing.assert_close(posterior.m(posterior.Z)[:, 0], expected)
    two = Posterior.from_arrays(kernel, Z, np.stack([beta, 2 * beta]), A)
    torch.testing.assert_close(two.m(posterior.Z)[:, 1], 2 * expected)
    with pytest.raises(ValueError, match=naming("Z", "(n, d)", "beta", "(c, n)", "A", "(c, n, n)", "(3,)", "(3, 3)")):
        Posterior.from_arrays(kernel, beta, beta, A)


@pytest.mark.parametrize("kernel", [RBF, Linear], ids=lambda kernel: kernel.__name__)
def test_exact_regression_with_a_kernel_of_other_features_is_refused(kernel: type) -> None:
    X = torch.zeros(5, 2, dtype=torch.float64)
    with pytest.raises(ValueError, match=naming(kernel.__name__, 3, 2)):
        Posterior.exact(kernel(torch.ones(3, dtype=torch.float64)), X, X[:, 0], noise=0.1)
