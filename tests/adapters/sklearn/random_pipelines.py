"""Random pipelines on a table of numbers, texts and missing values; their attributions by differences of predict."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

Array = NDArray[np.float64]
NUMBERS, ROWS = ["a", "b", "c"], 40
TEXTS = {"city": ["Rome", "Oslo", "Bern"], "grade": ["low", "mid", "high"]}
STENCIL = ((1, 8 / 12), (-1, -8 / 12), (2, -1 / 12), (-2, 1 / 12))


def frame(rng: np.random.Generator, rows: int = ROWS) -> pandas.DataFrame:
    columns: dict[str, Any] = {name: rng.gamma(3.0, 1.0, rows) + 0.2 for name in NUMBERS}
    columns["gap"] = np.where(rng.uniform(size=rows) < 0.15, np.nan, rng.normal(size=rows))
    columns |= {name: rng.choice(words, rows) for name, words in TEXTS.items()}
    return pandas.DataFrame(columns)[["city", "a", "gap", "b", "grade", "c"]]


def response(X: pandas.DataFrame) -> Array:
    effect = np.log(X["a"]) + np.sin(X["b"]) * (X["city"] == "Rome") + 0.3 * X["c"] - 0.4 * (X["grade"] == "low")
    return effect.to_numpy(np.float64)


def numeric(draw: Random, depth: int = 2) -> tuple[Any, bool]:
    """A transformer of positive numbers, and whether it has kinks."""
    smooth: list[Callable[[], Any]] = [
        lambda: StandardScaler(),
        lambda: RobustScaler(),
        lambda: MinMaxScaler(),
        lambda: MaxAbsScaler(),
        lambda: FunctionTransformer(draw.choice([np.log, np.log1p, np.sqrt, np.square, np.arctan])),
        lambda: FunctionTransformer(lambda X: np.asarray(X) ** 2 / (1 + np.asarray(X))),
        lambda: PowerTransformer(draw.choice(["yeo-johnson", "box-cox"])),
        lambda: PolynomialFeatures(2, include_bias=False, interaction_only=draw.random() < 0.5),
        lambda: Normalizer("l2"),
    ]
    kinked: list[Callable[[], Any]] = [
        lambda: SplineTransformer(
            draw.choice([3, 4]), degree=draw.choice([2, 3]), extrapolation=draw.choice(["constant", "linear"])
        ),
        lambda: QuantileTransformer(n_quantiles=draw.choice([4, 10]), output_distribution="uniform"),
        lambda: MinMaxScaler(clip=True),
    ]
    choice = draw.random()
    if depth and choice < 0.25:
        inner, kinks = numeric(draw, depth - 1)
        return make_pipeline(inner, draw.choice([StandardScaler(), PCA(2, random_state=0)])), kinks
    if depth and choice < 0.4:
        (left, first), (right, second) = numeric(draw, 0), numeric(draw, 0)
        return FeatureUnion([("left", left), ("right", right)]), first or second
    if depth and choice < 0.5:
        (left, first), (right, second) = numeric(draw, 0), numeric(draw, 0)
        return ColumnTransformer([("one", left, [0]), ("rest", right, slice(0, None))]), first or second
    kinks = choice > 0.75
    return draw.choice(kinked if kinks else smooth)(), kinks


def text(draw: Random) -> Any:
    encoder = draw.choice(
        [
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            OneHotEncoder(drop="first"),
            OrdinalEncoder(),
            TargetEncoder(),
        ]
    )
    return encoder if draw.random() < 0.6 else make_pipeline(SimpleImputer(strategy="most_frequent"), encoder)


def missing(draw: Random) -> Any:
    after: list[Any] = [[], [StandardScaler()], [KBinsDiscretizer(3, encode="onehot-dense", quantile_method="linear")]]
    return make_pipeline(SimpleImputer(strategy=draw.choice(["mean", "median"])), *draw.choice(after))


@dataclass(frozen=True)
class Case:
    """A fitted pipeline: a ColumnTransformer, further steps, and a Gaussian process."""

    model: Pipeline
    kinks: bool
    text: str

    @property
    def columns(self) -> ColumnTransformer:
        return self.model.steps[0][1]

    def predicted(self, prepared: Array) -> Array:
        """From the outputs of the ColumnTransformer."""
        last: Any = self.model[1:]
        return last.predict(prepared) if hasattr(last[-1], "alpha_") else last.predict_proba(prepared)[:, 1]


def case(seed: int) -> Case:
    draw, rng = Random(seed), np.random.default_rng(seed)
    X = frame(rng)
    some = draw.sample(NUMBERS, draw.randint(2, 3))
    inner, kinks = numeric(draw)
    branches: list[Any] = [("numbers", inner, some), ("gap", missing(draw), ["gap"])]
    branches += [(name, text(draw), [name]) for name in draw.sample(list(TEXTS), draw.randint(1, 2))]
    draw.shuffle(branches)
    after: list[Any] = draw.choice(
        [[StandardScaler()], [StandardScaler(), PCA(3, random_state=0)], [MinMaxScaler(), PolynomialFeatures(2)]]
    )
    kernel: Any = draw.choice([RBF(2.0), 1.5 * Matern(3.0, nu=2.5), RBF(3.0) + WhiteKernel(0.1)])
    if draw.random() < 0.7:
        last: Any = GaussianProcessRegressor(kernel, alpha=0.1, optimizer=None, normalize_y=draw.random() < 0.5)
    else:
        last = GaussianProcessClassifier(kernel, optimizer=None)
    np.random.seed(seed % 2**32)  # TargetEncoder's folds
    y = response(X)
    target = y if isinstance(last, GaussianProcessRegressor) else y > np.median(y)
    model = make_pipeline(ColumnTransformer(branches), *after, last).fit(X, target)
    return Case(model, kinks, f"seed {seed}: {model}")


def attributions(case: Case, x: pandas.DataFrame, x0: pandas.DataFrame) -> Array:
    """int dF/dt_c dt for every column c, where F(t_1, ..., t_D) has every column at a time of its own.

    Numbers move straight in the raw column, after imputation; the outputs of encoders, straight as they are.
    """
    names, fill = list(x.columns), case.columns.named_transformers_["gap"][0].statistics_[0]
    x, x0 = (part.fillna({"gap": fill}).reset_index(drop=True) for part in (x, x0))
    straight = {name: columns for name, columns in case.columns.output_indices_.items() if name in TEXTS}
    if isinstance(case.columns.named_transformers_["gap"][-1], KBinsDiscretizer):
        straight["gap"] = case.columns.output_indices_["gap"]
    ends = [np.asarray(case.columns.transform(part), np.float64) for part in (x0, x)]

    def F(times: Array) -> Array:
        rows = pandas.concat([x] * len(times), ignore_index=True)
        for name in (*NUMBERS, "gap"):
            start = x0[name].to_numpy()[0]
            rows[name] = start + times[:, names.index(name)] * (x[name].to_numpy()[0] - start)
        prepared = np.asarray(case.columns.transform(rows), np.float64)
        for name, columns in straight.items():
            t = times[:, [names.index(name)]]
            prepared[:, columns] = (1 - t) * ends[0][:, columns] + t * ends[1][:, columns]
        return case.predicted(prepared)

    def slopes(t: Array) -> Array:
        h = 2e-7 if case.kinks else 1e-4
        shifts = [a * h * row for row in np.eye(len(names)) for a, _ in STENCIL]
        values = F(np.concatenate([t[:, None] + shift for shift in shifts])).reshape(len(names), len(STENCIL), len(t))
        return np.einsum("s,dsq->qd", [b for _, b in STENCIL], values) / h

    change = float((F(np.ones((1, len(names)))) - F(np.zeros((1, len(names)))))[0])
    return completed(slopes, change)


def completed(slopes: Callable[[Array], Array], change: float, edges: int = 40) -> Array:
    """The integral that adds up best to the change; a kink may hide between the nodes of some."""
    tries = []
    for i in range(8):
        tries.append(integrated(slopes, np.random.default_rng(i).uniform(size=edges)))
        if abs(tries[-1].sum() - change) <= 1e-6:
            break
    return min(tries, key=lambda values: abs(values.sum() - change))


def integrated(slopes: Callable[[Array], Array], cuts: Array) -> Array:
    """int_0^1, by Gauss's rule on intervals that are halved until both halves add up to the whole."""
    nodes, weights = np.polynomial.legendre.leggauss(6)

    def sums(start: Array, width: Array) -> Array:
        t = start[:, None] + width[:, None] * (nodes + 1) / 2
        return np.einsum("i,q,iqd->id", width, weights / 2, slopes(t.ravel()).reshape(*t.shape, -1))

    edges = np.sort(np.concatenate([[0.0, 1.0], cuts]))
    start, width, total = edges[:-1], np.diff(edges), 0.0
    whole = sums(start, width)
    for _ in range(12):
        halves = np.concatenate([start, start + width / 2]), np.concatenate([width, width]) / 2
        parts = sums(*halves).reshape(2, len(start), -1)
        split = np.abs(parts.sum(0) - whole).max(1) > 1e-6 * np.maximum(width, 1e-2)
        total = total + parts[:, ~split].sum((0, 1))
        start, width = (half.reshape(2, -1)[:, split].ravel() for half in halves)
        whole = parts[:, split].reshape(-1, parts.shape[2])
        if not len(start):
            break
    return total + whole.sum(0)
