"""All of scikit-learn's kernels in one test: values, derivatives, noise; and what is refused."""

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as host
import torch

from gplens import kernels
from gplens.adapters.sklearn.kernels import TRANSLATIONS, has_noise, translate
from gplens.adapters.sklearn.pairwise import METRICS, REFUSED
from gplens.lines.line import Line

ABSTRACT = {host.Kernel, host.KernelOperator}
ARD = [0.8, 1.7, 2.9]

EXACT = [
    host.ConstantKernel(1.7),
    host.RBF(1.3),
    host.RBF(ARD),
    host.Matern(1.3, nu=1.5),
    host.Matern(ARD, nu=2.5),
    host.Matern(ARD, nu=np.inf),
    host.Matern(1.3, nu=1.2),
    host.Matern(ARD, nu=3.5),
    host.RationalQuadratic(1.3, 0.7),
    host.ExpSineSquared(0.9, 4.1),
    host.DotProduct(1.4),
    host.PairwiseKernel(metric="linear"),
    host.PairwiseKernel(metric="poly", gamma=0.2),
    host.PairwiseKernel(metric="polynomial", gamma=0.2, pairwise_kernels_kwargs={"degree": 2, "coef0": 0.5}),
    host.PairwiseKernel(metric="rbf", gamma=0.4),
    host.RBF(1.3) + host.DotProduct(0.7),
    host.RBF(1.3) * host.Matern(ARD, nu=2.5),
    2.0 * host.RBF(1.3) + 0.5,
    host.DotProduct(1.4) ** 2,
    host.RationalQuadratic(1.3, 0.7) ** 1.5,
    host.RBF(2.0) + host.WhiteKernel(0.3),
    host.RBF(2.0) * (host.ExpSineSquared(1.1, 5.0) + host.WhiteKernel(0.3)),
    (host.RBF(2.0) + host.WhiteKernel(0.3)) ** 2 + host.DotProduct(0.5) * host.WhiteKernel(0.1),
]
AUTOGRAD = [host.PairwiseKernel(metric="sigmoid", gamma=0.2), host.PairwiseKernel(metric="cosine")]


def points(seed: int, rows: int) -> np.ndarray:
    return np.random.RandomState(seed).normal(size=(rows, 3)) + 0.4


@pytest.mark.parametrize("kernel", [*EXACT, *AUTOGRAD], ids=str)
def test_values_and_derivatives_are_the_hosts(kernel: host.Kernel) -> None:
    """k(x, z) of different points, its gradient by central differences, and the noise of a point with itself."""
    ours, X, Z, h = translate(kernel), points(0, 4), points(1, 5), 1e-4
    assert ours is not None
    assert ours.autograd == (kernel in AUTOGRAD)
    x, z = torch.tensor(X), torch.tensor(Z)
    np.testing.assert_allclose(ours(x, z).numpy(), kernel(X, Z), rtol=1e-12, atol=1e-14)
    steps = [8 / 12 * (kernel(X + e, Z) - kernel(X - e, Z)) for e in h * np.eye(3)]
    wider = [1 / 12 * (kernel(X + 2 * e, Z) - kernel(X - 2 * e, Z)) for e in h * np.eye(3)]
    slopes = np.moveaxis((np.array(steps) - np.array(wider)) / h, 0, 2)
    each = torch.eye(5).double().expand(4, -1, -1)[:, :, None]
    np.testing.assert_allclose(ours.along(Line.at(x), z).by_node(each)[:, :, 0].numpy(), slopes, rtol=1e-8, atol=1e-10)
    noise = kernel.diag(X) - ours.diagonal(x).numpy()
    assert (noise > 1e-3).all() if has_noise(kernel) else np.abs(noise).max() < 1e-12


def test_no_kernel_of_the_library_was_forgotten() -> None:
    """Everything that it exports is translated, or refused by name."""
    every = {
        item for item in vars(host).values() if isinstance(item, type) and issubclass(item, host.Kernel)
    } - ABSTRACT
    assert every == set(TRANSLATIONS)
    tried = {type(part) for kernel in [*EXACT, *AUTOGRAD] for part in (kernel, *_parts(kernel))}
    assert tried == every - {host.CompoundKernel}


def _parts(kernel: host.Kernel) -> list[host.Kernel]:
    inner = [part for part in vars(kernel).values() if isinstance(part, host.Kernel)]
    return inner + [deeper for part in inner for deeper in _parts(part)]


def test_every_pairwise_metric_is_translated_or_refused() -> None:
    from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS

    assert set(METRICS) | set(REFUSED) == set(PAIRWISE_KERNEL_FUNCTIONS)


def test_pure_noise_is_nothing_between_points() -> None:
    assert translate(host.WhiteKernel(0.3)) is None
    assert translate(host.WhiteKernel(0.3) * host.RBF()) is None
    assert translate(host.WhiteKernel(0.3) ** 2) is None
    assert isinstance(translate(host.WhiteKernel(0.3) + host.RBF()), kernels.RBF)


class Own(host.RBF):
    """A subclass may compute anything."""


REFUSALS = {
    "rough": (host.Matern(nu=0.5), r"Matern\(nu=0.5\).*nu=1.5 or nu=2.5"),
    "subclass": (Own(), r"RBF.* Own,.*Posterior.from_arrays"),
    "compound": (host.CompoundKernel([host.RBF()]), "CompoundKernel"),
    "laplacian": (host.RBF() * host.PairwiseKernel(metric="laplacian"), "laplacian"),
    "chi2": (host.PairwiseKernel(metric="chi2"), "chi2"),
    "callable": (host.PairwiseKernel(metric=lambda x, y: x @ y), "function"),
    "too smooth": (host.Matern(nu=40.0), "gplens.kernels.RBF"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_is_refused(name: str) -> None:
    kernel, message = REFUSALS[name]
    with pytest.raises(ValueError, match=message):
        translate(kernel)
