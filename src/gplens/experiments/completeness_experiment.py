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

from gplens.datasets import synthetic
from gplens.estimators import GPClassifier, GPCountRegressor, GPVarianceRegressor, Training
from gplens.estimators.base import GPEstimator
from gplens.experiments.approximations import SigmoidHermite, SoftmaxExpansion
from gplens.experiments.figures import convergence
from gplens.experiments.report import Report, markdown
from gplens.experiments.run import Messages
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.links import Exp, Probit, SigmoidTaylor, Square
from gplens.rules import RiemannRight, Rule

POINTS = (50, 500, 1000, 5000)
"""The numbers of right Riemann points in the columns of Figure 1."""
INDUCING, EXPLAINED = 50, 50
SEEDS = 10


@final
@dataclass(frozen=True)
class Row:
    """A line of Figure 1."""

    name: str
    link: str
    """The link of the data and of the fit."""
    approximation: Any
    """The link that the paper computes with, exact or not."""
    printed: tuple[float, ...]
    """The values in the paper, by number of points."""


ROWS = (
    Row("square", "square", Square(), (0.0014, 0.0001, 0.0001, 0.0000)),
    Row("exp", "exp", Exp(), (0.0078, 0.0009, 0.0004, 0.0001)),
    Row("probit", "probit", Probit(), (0.0008, 0.0001, 0.0001, 0.0000)),
    Row("sigmoid (Gauss-Hermite)", "sigmoid", SigmoidHermite(), (0.0006, 0.0001, 0.0000, 0.0000)),
    Row("sigmoid (Taylor)", "sigmoid", SigmoidTaylor(), (0.0007, 0.0004, 0.0004, 0.0004)),
    Row("softmax (Taylor)", "softmax", SoftmaxExpansion(), (0.0013, 0.0003, 0.0002, 0.0002)),
)

MODELS: dict[str, Callable[..., GPEstimator]] = {
    "square": GPVarianceRegressor,
    "exp": GPCountRegressor,
    "probit": partial(GPClassifier, link="probit"),
    "sigmoid": partial(GPClassifier, link="logistic"),
    "softmax": partial(GPClassifier, link="softmax"),
}
"""The estimator that is fitted to the data of each link."""


def run_table(seed: int, quick: bool, messages: Messages) -> Report:
    """Ten seeds from the given one; two, with fewer points, in the quick version."""
    seeds = range(seed, seed + (2 if quick else SEEDS))
    points, training = (POINTS[:2], Training(steps=20)) if quick else (POINTS, Training())
    messages.say(f"{len(MODELS)} models, {len(seeds)} seeds, {', '.join(map(str, points))} Riemann points, the default")
    runs = [(link, number) for number in seeds for link in MODELS]
    work: Any = Parallel(n_jobs=1 if quick else -1, return_as="generator")(
        delayed(measure_on_one_thread)(link, number, points, training) for link, number in runs
    )
    gaps = pandas.DataFrame(line for lines in messages.each(work, "fits", len(runs)) for line in lines)
    settings = {"experiment": "table", "seeds": list(seeds), "rows": 500, "inducing points": INDUCING}
    settings |= {"explained": EXPLAINED, "kernel": "rbf", "tolerance": 1e-6, "quick": quick}
    tables = {"gaps": gaps.drop(columns="seconds"), "times": gaps[["row", "seed", "rule", "seconds"]]}
    printed = {row.name: row.printed for row in ROWS}
    return Report(_page(gaps, points, messages.spent), tables, {"convergence": convergence(gaps, printed)}, settings)


def measure_on_one_thread(link: str, seed: int, points: tuple[int, ...], training: Training) -> list[dict[str, object]]:
    """`measure` on one thread, which is as fast as several: its matrices are small."""
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
    _timed(model, X, model.likelihood_, None)  # what is done once for a Posterior is not part of the times
    exact, seconds = _timed(model, X, model.likelihood_, None)
    change = exact.prediction - exact.baseline_prediction
    for row in (row for row in ROWS if row.link == link):
        key = {"row": row.name, "seed": seed}
        yield {**key, "rule": "default", **_gap_and_nodes(exact, change), "seconds": seconds}
        for count in points:
            riemann, riemann_seconds = _timed(model, X, row.approximation, RiemannRight(count))
            yield {**key, "rule": str(count), **_gap_and_nodes(riemann, change), "seconds": riemann_seconds}


def _timed(model: GPEstimator, X: Tensor, likelihood: Any, rule: Rule | None) -> tuple[Explanation, float]:
    began = perf_counter()
    explanation = explain(model.posterior_, X, baseline=0.0, likelihood=likelihood, rule=rule)
    return explanation, perf_counter() - began


def _gap_and_nodes(explanation: Explanation, change: Float[Tensor, "b *c"]) -> dict[str, float]:
    gap = (explanation.values.sum(-1) - change).abs().mean()
    return {"gap": float(gap), "nodes": float(explanation.nodes.double().mean())}


def _page(gaps: pandas.DataFrame, points: tuple[int, ...], spent: str) -> str:
    by = gaps.groupby(["row", "rule"], sort=False)[["gap", "nodes", "seconds"]].agg(["mean", "std", "max"])
    lines, ours = [], []
    for row in ROWS:
        cells = [
            (by.loc[(row.name, str(count)), "gap"], paper) for count, paper in zip(points, row.printed, strict=False)
        ]
        lines.append([row.name, *(f"{gap['mean']:.4f} ± {gap['std']:.4f} ({paper:.4f})" for gap, paper in cells)])
        exact, slow = by.loc[(row.name, "default")], by.loc[(row.name, str(points[-1]))]
        times = [f"{1e3 * rule['seconds', 'mean']:.0f} ms" for rule in (exact, slow)]
        gaps_of_default = f"{exact['gap', 'mean']:.1e}", f"{exact['gap', 'max']:.1e}"
        ours.append([row.name.partition(" ")[0], *gaps_of_default, f"{exact['nodes', 'mean']:.1f}", *times])
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
