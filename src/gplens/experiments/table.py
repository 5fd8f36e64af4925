"""`gplens reproduce table`: Figure 1, the completeness gap on the synthetic data of Appendix E.1."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, final

import pandas
import torch
from jaxtyping import Float
from joblib import Parallel, delayed
from torch import Tensor

import gplens
from gplens.datasets import synthetic
from gplens.estimators import GPClassifier, GPCountRegressor, GPVarianceRegressor, Training
from gplens.estimators.base import GPEstimator
from gplens.experiments.approximations import SigmoidHermite, SoftmaxExpansion
from gplens.experiments.plots import convergence
from gplens.experiments.progress import Progress
from gplens.experiments.result import Result, markdown
from gplens.rules import RiemannRight, Rule

POINTS = (50, 500, 1000, 5000)
"""Right-Riemann points of the columns of Figure 1."""
INDUCING, EXPLAINED = 50, 50
SEEDS = 10


@final
@dataclass(frozen=True)
class Row:
    """A line of Figure 1."""

    name: str
    link: str
    """Of the data and the fit."""
    approximation: Any
    """What the paper computes with: a link, exact or not."""
    printed: tuple[float, ...]
    """The paper's values."""


ROWS = (
    Row("square", "square", gplens.links.Square(), (0.0014, 0.0001, 0.0001, 0.0000)),
    Row("exp", "exp", gplens.links.Exp(), (0.0078, 0.0009, 0.0004, 0.0001)),
    Row("probit", "probit", gplens.links.Probit(), (0.0008, 0.0001, 0.0001, 0.0000)),
    Row("sigmoid (Gauss-Hermite)", "sigmoid", SigmoidHermite(), (0.0006, 0.0001, 0.0000, 0.0000)),
    Row("sigmoid (Taylor)", "sigmoid", gplens.links.SigmoidTaylor(), (0.0007, 0.0004, 0.0004, 0.0004)),
    Row("softmax (Taylor)", "softmax", SoftmaxExpansion(), (0.0013, 0.0003, 0.0002, 0.0002)),
)

MODELS: dict[str, Callable[..., GPEstimator]] = {
    "square": GPVarianceRegressor,
    "exp": GPCountRegressor,
    "probit": partial(GPClassifier, link="probit"),
    "sigmoid": partial(GPClassifier, link="logistic"),
    "softmax": partial(GPClassifier, link="softmax"),
}
"""What is fitted to the data of each link."""


def run_table(seed: int, quick: bool, progress: Progress) -> Result:
    """Ten seeds from the one given; two, with fewer points, in the quick version."""
    seeds = range(seed, seed + (2 if quick else SEEDS))
    points, training = (POINTS[:2], Training(steps=20)) if quick else (POINTS, Training())
    progress.say(f"{len(MODELS)} models, {len(seeds)} seeds, {', '.join(map(str, points))} Riemann points, the default")
    runs = [(link, one) for one in seeds for link in MODELS]
    work: Any = Parallel(n_jobs=1 if quick else -1, return_as="generator")(
        delayed(measured)(link, one, points, training) for link, one in runs
    )
    gaps = pandas.DataFrame(line for lines in progress.each(work, "fits", len(runs)) for line in lines)
    settings = {"experiment": "table", "seeds": list(seeds), "rows": 500, "inducing points": INDUCING}
    settings |= {"explained": EXPLAINED, "kernel": "rbf", "tolerance": 1e-6, "quick": quick}
    tables = {"gaps": gaps.drop(columns="seconds"), "times": gaps[["row", "seed", "rule", "seconds"]]}
    printed = {row.name: row.printed for row in ROWS}
    return Result(_page(gaps, points, progress.spent), tables, {"convergence": convergence(gaps, printed)}, settings)


def measured(link: str, seed: int, points: tuple[int, ...], training: Training) -> list[dict[str, object]]:
    """One fit on one thread, which is as fast as several: its matrices are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return list(measure(link, seed, points, training))
    finally:
        torch.set_num_threads(threads)


def measure(link: str, seed: int, points: tuple[int, ...], training: Training) -> Iterator[dict[str, object]]:
    """One fit, and the gap of each rule: mean |sum of attributions - change of the exact expected output|."""
    data = synthetic(link, seed=seed)
    X = data.X[torch.randperm(len(data.X), generator=torch.Generator().manual_seed(seed))[:EXPLAINED]]
    options = {"inducing_points": INDUCING, "inducing": "first", "scaling": "none", "training": training}
    model = MODELS[link]("rbf", **options, random_state=seed, progress=False).fit(data.X.numpy(), data.y.numpy())
    _timed(model, X, model.likelihood_, None)  # reads the model, which every rule below then finds read
    exact, seconds = _timed(model, X, model.likelihood_, None)
    change = exact.prediction - exact.baseline_prediction
    for row in (row for row in ROWS if row.link == link):
        one = {"row": row.name, "seed": seed}
        yield {**one, "rule": "default", **_line(exact, change), "seconds": seconds}
        for count in points:
            found, seconds_of = _timed(model, X, row.approximation, RiemannRight(count))
            yield {**one, "rule": str(count), **_line(found, change), "seconds": seconds_of}


def _timed(model: GPEstimator, X: Tensor, likelihood: Any, rule: Rule | None) -> tuple[gplens.Explanation, float]:
    start = perf_counter()
    found = gplens.explain(model.model_, X, baseline=0.0, likelihood=likelihood, rule=rule)
    return found, perf_counter() - start


def _line(found: gplens.Explanation, change: Float[Tensor, "b *c"]) -> dict[str, float]:
    gap = (found.values.sum(-1) - change).abs().mean()
    return {"gap": float(gap), "nodes": float(found.nodes.double().mean())}


def _page(gaps: pandas.DataFrame, points: tuple[int, ...], spent: str) -> str:
    by = gaps.groupby(["row", "rule"], sort=False)[["gap", "nodes", "seconds"]].agg(["mean", "std", "max"])
    lines, ours = [], []
    for row in ROWS:
        cells = [
            (by.loc[(row.name, str(count)), "gap"], paper) for count, paper in zip(points, row.printed, strict=False)
        ]
        lines.append([row.name, *(f"{gap['mean']:.4f} ± {gap['std']:.4f} ({paper:.4f})" for gap, paper in cells)])
        exact, slow = by.loc[(row.name, "default")], by.loc[(row.name, str(points[-1]))]
        times = [f"{1e3 * one['seconds', 'mean']:.0f} ms" for one in (exact, slow)]
        largest = f"{exact['gap', 'mean']:.1e}", f"{exact['gap', 'max']:.1e}"
        ours.append([row.name.partition(" ")[0], *largest, f"{exact['nodes', 'mean']:.1f}", *times])
    ours = list({line[0]: line for line in ours}.values())  # both sigmoid rows have the same default
    seeds = gaps["seed"].nunique()
    return PAGE.format(
        seeds=seeds,
        riemann=markdown(["inverse link", *(f"{count} points" for count in points)], lines),
        default=markdown(["inverse link", "mean gap", "worst seed", "nodes", "time", f"{points[-1]} points"], ours),
        spent=spent,
    )


PAGE = """# Figure 1: completeness gaps on synthetic data

Mean over 50 random rows of |sum of attributions - (E g at the row - E g at zero)|, with E g computed exactly; 500 rows,
50 inducing points that start at the first 50 rows, a squared exponential kernel. Mean ± standard deviation over {seeds}
seeds; in brackets what the paper prints.

{riemann}

The same models with gplens' default rule and exact links; the last two columns are the time of 50 explanations, and
that of the right Riemann rule with its most points.

{default}

![Gap against the number of points](convergence.png)

For the softmax the gap is averaged over all five classes. The draws of data, weights and fits are ours, since the paper
gives no seeds; one draw of W moves a gap by as much as the gap itself, which is why the spread is shown. Every number
is in gaps.csv, the times in times.csv. Computed in {spent}.
"""
