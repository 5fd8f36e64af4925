"""docs/HOSTS.md: its code runs, on stand-ins for packages that are not installed, and its table is what happens."""

import re
from math import inf
from pathlib import Path
from types import SimpleNamespace as Namespace
from typing import Any

import numpy as np
import pytest
import sklearn.gaussian_process.kernels as host
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from scipy.stats import norm

from gplens.adapters.sklearn.kernels import translate

PAGE = (Path(__file__).parents[1] / "docs" / "HOSTS.md").read_text()
ROWS = re.findall(r"^\| `(.*?)` \| (formula|autograd|refused) \|", PAGE, flags=re.MULTILINE)
Array = NDArray[np.float64]

pytestmark = [  # shap, when it is imported
    pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning"),
]


def code(section: str) -> str:
    """The first block of code below a heading."""
    below = PAGE[re.search(rf"^##+ {section}$", PAGE, flags=re.MULTILINE).end() :]  # type: ignore[union-attr]
    return re.search(r"```python\n(.*?)```", below, flags=re.DOTALL).group(1)  # type: ignore[union-attr]


def run(section: str, **names: Any) -> dict[str, Any]:
    exec(code(section), names)
    return names


def test_every_kernel_has_a_row() -> None:
    every = {name for name, item in vars(host).items() if isinstance(item, type) and issubclass(item, host.Kernel)}
    operators = {"Sum": "+", "Product": "*", "Exponentiation": "**"}
    named = " ".join(expression for expression, _ in ROWS)
    assert all(operators.get(name, f"{name}(") in named for name in every - {"Kernel", "KernelOperator"})


@pytest.mark.parametrize(("expression", "how"), ROWS, ids=[expression for expression, _ in ROWS])
def test_the_table_says_what_happens(expression: str, how: str) -> None:
    kernel = eval(expression, {**vars(host), "inf": inf})
    if how == "refused":
        with pytest.raises(ValueError, match=r"\w"):
            translate(kernel)
        return
    result = translate(kernel)
    assert ("autograd" if result is not None and result.autograd else "formula") == how


@pytest.mark.parametrize(
    "section",
    [
        "Reading once, explaining often",
        "scikit-learn",
        "Pipelines of scikit-learn",
        "BoTorch",
        "Captum",
        "shap",
        "Two functions",
    ],
)
def test_examples_run(section: str) -> None:
    run(section)


def rbf(X: Array, Z: Array, lengthscales: Array, variance: float) -> Array:
    return variance * np.exp(-cdist(X / lengthscales, Z / lengthscales, "sqeuclidean") / 2)


def test_gpflow() -> None:
    """Against the moments of an SVGP written with numpy, and the probit of its Bernoulli likelihood."""
    r = np.random.RandomState(0)
    X, Z, q_mu = (r.normal(size=shape) for shape in ((4, 2), (5, 2), (5, 1)))
    q_sqrt, scale, variance = np.tril(r.normal(size=(5, 5))), np.array([0.8, 1.5]), 1.7
    model = Namespace(
        kernel=Namespace(lengthscales=scale, variance=np.array(variance)),
        inducing_variable=Namespace(Z=Z),
        q_mu=q_mu,
        q_sqrt=0.3 * q_sqrt[None],
    )
    result = run("GPflow", model=model, X=X)["explanation"]

    def predict(x: Array) -> Array:
        L = np.linalg.cholesky(rbf(Z, Z, scale, variance) + 1e-6 * np.eye(5))
        a = np.linalg.solve(L, rbf(Z, x, scale, variance))
        m, v = a.T @ q_mu[:, 0], variance - (a**2).sum(0) + ((0.3 * q_sqrt.T @ a) ** 2).sum(0)
        return norm.cdf(m / np.sqrt(1 + v)) * (1 - 2e-3) + 1e-3

    np.testing.assert_allclose(result.prediction.numpy(), predict(X), rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.values.sum(1).numpy(), predict(X) - predict(0 * X[:1]), rtol=0, atol=1e-8)


def test_gpjax() -> None:
    """Against the mean of a conjugate posterior written with numpy."""
    r = np.random.RandomState(1)
    X, D = r.normal(size=(4, 2)), Namespace(X=r.normal(size=(9, 2)), y=r.normal(size=(9, 1)))
    scale, variance, constant, noise = np.array([0.8, 1.5]), 1.7, 0.4, 0.3
    kernel = Namespace(lengthscale=Namespace(value=scale), variance=Namespace(value=variance))
    mean = Namespace(constant=Namespace(value=np.array([constant])))
    posterior = Namespace(
        prior=Namespace(kernel=kernel, mean_function=mean),
        likelihood=Namespace(obs_stddev=Namespace(value=noise)),
        jitter=1e-6,
    )
    names = run("GPJax", posterior=posterior, D=D, X=X)

    def k(x: Array, z: Array) -> Array:
        s = np.sqrt(5) * cdist(x / scale, z / scale)
        return variance * (1 + s + s**2 / 3) * np.exp(-s)

    K = k(D.X, D.X) + (1e-6 + noise**2) * np.eye(9)
    m = constant + k(X, D.X) @ np.linalg.solve(K, D.y[:, 0] - constant)
    v = variance - np.einsum("ij,ji->i", k(X, D.X), np.linalg.solve(K, k(D.X, X))) + 1e-6
    np.testing.assert_allclose(names["explanation"].prediction.numpy(), m, rtol=0, atol=1e-10)
    np.testing.assert_allclose(names["gp"].v(names["explanation"].inputs)[:, 0].numpy(), v, rtol=0, atol=1e-10)
