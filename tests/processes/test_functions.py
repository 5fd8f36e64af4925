"""A process given as mean(x) and variance(x): the same attributions as the posterior that they come from."""

import pytest
import torch
from torch import Tensor

from conformance.zoo import EVERY_LINK, generator, normal
from gplens import Diagonal, Functions, Posterior, Stack, explain
from gplens.kernels import RBF, Linear, Sum
from gplens.links import Exp, Link, Softmax
from gplens.targets import EpistemicVariance, Latent
from messages import naming

SCALE = torch.tensor([0.8, 1.4, 2.0], dtype=torch.float64)


def posterior(seed: int = 1) -> Posterior:
    g = generator(seed)
    kernel = Sum((RBF(SCALE), Linear(torch.tensor([0.3], dtype=torch.float64))))
    return Posterior.exact(kernel, normal(g, 8, 3), normal(g, 8), noise=0.1)


def written(posterior: Posterior) -> tuple:
    """The same two functions with plain torch."""

    def k(x: Tensor, z: Tensor) -> Tensor:
        return torch.exp(-(((x[:, None] - z) / SCALE) ** 2).sum(2) / 2) + 0.3 * x @ z.T

    def mean(x: Tensor) -> Tensor:
        return k(x, posterior.Z) @ posterior.beta[0]

    def variance(x: Tensor) -> Tensor:
        return 1 + 0.3 * (x**2).sum(1) - ((k(x, posterior.Z) @ posterior.A.F[0].T) ** 2).sum(1)

    return mean, variance


@pytest.mark.parametrize("link", EVERY_LINK, ids=lambda link: type(link).__name__)
def test_attributions_are_those_of_the_posterior(link: Link) -> None:
    exact, X = posterior(), normal(generator(2), 4, 3)
    mean, variance = written(exact)
    e = explain(Functions(mean, variance, features=3), X, baseline=0.1, likelihood=link, tolerance=1e-9)
    expected = explain(exact, X, baseline=0.1, likelihood=link, tolerance=1e-9)
    torch.testing.assert_close(e.values, expected.values, rtol=1e-8, atol=1e-9)
    torch.testing.assert_close(e.prediction, expected.prediction, rtol=1e-10, atol=1e-11)
    assert e.provenance.gradients == "autograd"


def test_several_outputs() -> None:
    parts, X = [posterior(1), posterior(5)], normal(generator(2), 3, 3)
    means, variances = zip(*(written(part) for part in parts), strict=True)
    model = Functions(
        lambda x: torch.stack([m(x) for m in means], 1),
        lambda x: torch.stack([v(x) for v in variances], 1),
        features=3,
        outputs=2,
    )
    e = explain(model, X, baseline=0.1, likelihood=Softmax())
    expected = explain(Stack(tuple(parts)), X, baseline=0.1, likelihood=Softmax())
    torch.testing.assert_close(e.values, expected.values, rtol=1e-6, atol=1e-8)


def test_the_mean_alone_is_enough_where_nothing_else_is_needed() -> None:
    exact, X = posterior(), normal(generator(2), 4, 3)
    model = Functions(written(exact)[0], features=3)
    expected = explain(exact, X, baseline=0.1, target=Latent())
    by_mean = explain(model, X, baseline=0.1, target=Latent())
    torch.testing.assert_close(by_mean.values, expected.values, atol=1e-8, rtol=1e-6)
    with pytest.raises(ValueError, match=naming("gplens.Functions", "variance", "None", "targets.Latent()")):
        explain(model, X, baseline=0.1, target=EpistemicVariance())


def test_a_path_with_many_turns_is_followed() -> None:
    """sin(40 x): 20 half waves between the nodes of a single panel."""
    model = Functions(lambda x: torch.sin(40 * x[:, 0]) + x[:, 1] ** 2, features=2)
    X = torch.tensor([[1.3, 2.0]]).double()
    e = explain(model, X, baseline=0.0, target=Latent(), tolerance=1e-9)
    expected = torch.stack([torch.sin(40 * X[:, 0]), X[:, 1] ** 2], 1)
    torch.testing.assert_close(e.values, expected, rtol=1e-8, atol=1e-9)


WRONG = {
    "a mix of rows": (lambda x: x[:, 0] - x[:, 0].mean(), naming("gplens.Functions", "mean(x)", "row")),
    "a detached part": (lambda x: x[:, 0] + x[:, 1].detach() ** 2, naming("autograd", "mean(x)", ".detach()")),
    "nothing left of autograd": (lambda x: torch.as_tensor(x.detach().numpy()[:, 0]), naming("autograd", "mean(x)", 0)),
    "float32": (lambda x: x[:, 0].float(), naming("mean(x)", "torch.float64", "torch.float32")),
    "a table": (lambda x: x, r"mean\(x\).*\((\d+),\).*\(\1, 3\)"),
    "numpy": (lambda x: x.detach().numpy()[:, 0], naming("mean(x)", "torch.float64", "ndarray")),
    "not finite": (lambda x: x[:, 0] / 0, naming("mean(x)", "finite", "-inf")),
}


@pytest.mark.parametrize("name", WRONG)
def test_functions_that_cannot_be_explained_are_refused(name: str) -> None:
    function, message = WRONG[name]
    X = normal(generator(2), 4, 3)
    with pytest.raises(ValueError, match=message):
        explain(Functions(function, features=3), X, baseline=0.1, target=Latent())


def test_a_negative_variance_is_refused() -> None:
    X = normal(generator(2), 4, 3)
    with pytest.raises(ValueError, match=naming("variance(x)", 0, f"{float(X[:, 1].min()):.6g}")):
        explain(Functions(lambda x: x[:, 0], lambda x: x[:, 1], features=3), X, baseline=0.1, likelihood=Exp())


def test_error_bars_need_a_covariance() -> None:
    exact, X = posterior(), normal(generator(2), 2, 3)
    with pytest.raises(ValueError, match=naming("gplens.Functions", "covariances", "uncertainty")):
        explain(Functions(*written(exact), features=3), X, baseline=0.1, likelihood=Exp(), uncertainty=Diagonal())


def test_the_number_of_columns_is_checked() -> None:
    with pytest.raises(ValueError, match=naming("X", "columns", 2, 3)):
        explain(Functions(lambda x: x[:, 0], features=3), [[1.0, 2.0]], baseline=0.0, target=Latent())
