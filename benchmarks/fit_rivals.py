"""Models for `make bench-training`: what a table is fitted with, and what each model predicts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from time import process_time
from typing import Any, final
from unittest.mock import patch

import gpytorch
import numpy as np
import torch
from scipy.special import gammaln
from scipy.stats import norm, poisson
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression, PoissonRegressor, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fit_tables import Table
from gplens.estimators import (
    GPClassifier,
    GPCountRegressor,
    GPRegressor,
    exact_regression,
    fitting,
    quasi_newton,
    sparse_regression,
)
from gplens.estimators.training import monitor
from images import plain_loop
from models import LogPoisson, Sparse

MOST = {"real": 1000, "count": 1000, "class": 600}
"""Rows for scikit-learn's Gaussian processes, whose time grows with their cube, and for exact GPyTorch models."""
INSIDE = norm.ppf(0.95)


@final
@dataclass(frozen=True)
class Measured:
    """Score of new rows, log density of each, and the fraction of numbers inside their 90 % interval."""

    score: float
    density: Any
    inside: float | None


def gaussian(y: Any, mean: Any, std: Any) -> Measured:
    score = 1 - ((y - mean) ** 2).mean() / y.var()
    return Measured(score, norm(mean, std).logpdf(y), (abs(y - mean) <= INSIDE * std).mean())


def classes(y: Any, p: Any, labels: Any) -> Measured:
    column = np.searchsorted(labels, y)
    return Measured((p.argmax(1) == column).mean(), np.log(p[np.arange(len(y)), column].clip(1e-12)), None)


def counts(y: Any, rate: Any) -> Measured:
    density = y * np.log(rate) - rate - gammaln(y + 1)
    inside = ((y >= poisson(rate).ppf(0.05)) & (y <= poisson(rate).ppf(0.95))).mean()
    return Measured(explained(y, rate), density, inside)


def explained(y: Any, rate: Any) -> float:
    from sklearn.metrics import d2_tweedie_score

    return float(d2_tweedie_score(y, rate, power=1))


def inputs(table: Table) -> Any:
    """Standardised numbers, with texts as zeros and ones."""
    if not hasattr(table.X, "columns"):
        return make_pipeline(StandardScaler())
    texts = make_column_selector(dtype_include=object)
    return make_pipeline(
        make_column_transformer((OneHotEncoder(sparse_output=False), texts), remainder=StandardScaler()),
        StandardScaler(),
    )


def ours(table: Table, budget: float | None = None) -> Callable[[], Measured]:
    images: dict[str, Any] = {"kernel": "rbf", "ard": False, "scaling": "table"} if table.name[:5] == "MNIST" else {}
    kinds = {"real": GPRegressor, "count": GPCountRegressor, "class": GPClassifier}
    model = kinds[table.kind](**images, random_state=1, progress=False).fit(table.X, table.y, budget=budget)

    def measure() -> Measured:
        new, y = table.new, table.new_y
        if table.kind == "class":
            return classes(y, model.predict_proba(new), model.classes_)
        if table.kind == "real":
            return gaussian(y, *model.predict(new, return_std=True))
        m, v = (part[:, 0].numpy() for part in model._marginals(model._read(new)))
        f = m + np.sqrt(v) * np.random.default_rng(0).normal(size=(200, 1))
        size = 1 / max(model.training_summary_["dispersion"], 1e-9)  # a Poisson rate with Gamma's spread
        r = np.random.default_rng(1)
        draws = r.poisson(np.exp(f) * r.gamma(size, 1 / size, f.shape))
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        return Measured(model.score(new, y), model.log_density(new, y), ((y >= low) & (y <= high)).mean())

    return measure


def sklearn_gp(table: Table) -> Callable[[], Measured] | None:
    if table.kind == "count":
        return None
    few, scale = MOST[table.kind], inputs(table)
    X, y = scale.fit_transform(table.X[:few]), table.y[:few]
    if table.kind == "class":
        model: Any = GaussianProcessClassifier(ConstantKernel() * RBF(3.0), random_state=0).fit(X, y)
        return lambda: classes(table.new_y, model.predict_proba(scale.transform(table.new)), model.classes_)
    kernel = ConstantKernel() * RBF(np.full(X.shape[1], 3.0)) + WhiteKernel(0.1)
    model = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    return lambda: gaussian(table.new_y, *model.predict(scale.transform(table.new), return_std=True))


def boosting(table: Table) -> Callable[[], Measured]:
    options: dict[str, Any] = {"random_state": 0, "categorical_features": "from_dtype"}
    X, new = (
        part.astype({"town": "category", "kind": "category"}) if hasattr(part, "columns") else part
        for part in (table.X, table.new)
    )
    if table.kind == "class":
        model: Any = HistGradientBoostingClassifier(**options).fit(X, table.y)
        return lambda: classes(table.new_y, model.predict_proba(new), model.classes_)
    loss = "poisson" if table.kind == "count" else "squared_error"
    held = np.arange(len(table.y)) % 10 == 0
    probe = HistGradientBoostingRegressor(loss=loss, **options).fit(X[~held], table.y[~held])
    spread = np.sqrt(((table.y[held] - probe.predict(X[held])) ** 2).mean())
    model = HistGradientBoostingRegressor(loss=loss, **options).fit(X, table.y)
    if table.kind == "count":
        return lambda: counts(table.new_y, model.predict(new))
    return lambda: gaussian(table.new_y, model.predict(new), spread)


def linear(table: Table) -> Callable[[], Measured]:
    scale = inputs(table)
    X = scale.fit_transform(table.X)
    if table.kind == "class":
        model: Any = LogisticRegression(max_iter=1000).fit(X, table.y)
        return lambda: classes(table.new_y, model.predict_proba(scale.transform(table.new)), model.classes_)
    if table.kind == "count":
        model = PoissonRegressor(alpha=1e-3, max_iter=1000).fit(X, table.y)
        return lambda: counts(table.new_y, model.predict(scale.transform(table.new)))
    model = RidgeCV(np.logspace(-2, 4, 13)).fit(X, table.y)
    spread = (table.y - model.predict(X)).std()
    return lambda: gaussian(table.new_y, model.predict(scale.transform(table.new)), spread)


class Plain(gpytorch.models.ExactGP):
    """The model of GPyTorch's tutorial on exact regression, with a lengthscale for each input."""

    def __init__(self, X: torch.Tensor, y: torch.Tensor, likelihood: Any) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

    def forward(self, x: torch.Tensor) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def plain_gpytorch(table: Table) -> Callable[[], Measured] | None:
    """The tutorials' loops: 100 steps of Adam with rate 0.1 for the evidence of at most 1,000 rows; SVGP for others."""
    if table.kind != "real":
        return plain_svgp(table)
    scale, few = inputs(table), MOST["real"]
    X = torch.from_numpy(np.asarray(scale.fit_transform(table.X[:few])))
    centre, unit = table.y[:few].mean(), table.y[:few].std()
    y = torch.from_numpy((table.y[:few] - centre) / unit)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    model = Plain(X, y, likelihood).double()
    mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (-mll(model(X), y)).backward()
        optimizer.step()

    def measure() -> Measured:
        with torch.no_grad():
            f = likelihood.eval()(model.eval()(torch.from_numpy(np.asarray(scale.transform(table.new)))))
            return gaussian(table.new_y, centre + unit * f.mean.numpy(), unit * f.variance.sqrt().numpy())

    return measure


def plain_svgp(table: Table) -> Callable[[], Measured]:
    """100 inducing points at the first rows, 500 steps of Adam with rate 0.01 on 250 rows each."""
    scale, labels = inputs(table), np.unique(table.y)
    X = torch.from_numpy(np.asarray(scale.fit_transform(table.X)))
    several = None if table.kind == "count" else len(labels)
    Z = X[:100].clone() if several is None else X[:100].expand(several, -1, -1).clone()
    y = torch.from_numpy(table.y if several is None else np.searchsorted(labels, table.y))
    likelihood: Any = LogPoisson()
    if several is not None:
        likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=several, mixing_weights=False)
    model = Sparse(Z, several).double() if several is not None else Sparse(Z).double()
    torch.manual_seed(0)
    plain_loop(model, likelihood, X, y, 500)

    def measure() -> Measured:
        with torch.no_grad():
            f = model.eval()(torch.from_numpy(np.asarray(scale.transform(table.new))))
            z = torch.randn(200, *f.mean.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
            draws = f.mean + f.variance.sqrt() * z
        if several is not None:
            return classes(table.new_y, torch.softmax(draws, -1).mean(0).numpy(), labels)
        counted = np.random.default_rng(1).poisson(draws.exp().numpy())
        low, high = np.quantile(counted, [0.05, 0.95], axis=0)
        inside = ((table.new_y >= low) & (table.new_y <= high)).mean()
        mean = (f.mean + f.variance / 2).exp().numpy()
        log_p = poisson(draws.exp().numpy()).logpmf(table.new_y)
        return Measured(explained(table.new_y, mean), np.logaddexp.reduce(log_p) - np.log(len(log_p)), inside)

    return measure


@contextmanager
def budgets_in_cpu_time() -> Iterator[None]:
    """Let budgets end by the clock of the CPU, as all times here, so that other programs do not shorten fits."""
    with ExitStack() as stack:
        for module in (monitor, exact_regression, sparse_regression, quasi_newton, fitting):
            stack.enter_context(patch.object(module, "perf_counter", process_time))
        yield


RIVALS = ("scikit-learn's GP", "GPyTorch")
"""The models that `training.py` compares gplens with at their own time."""
MODELS: dict[str, Callable[[Table], Callable[[], Measured] | None]] = {
    "gplens": ours,
    "scikit-learn's GP": sklearn_gp,
    "GPyTorch": plain_gpytorch,
    "boosting": boosting,
    "linear": linear,
}
