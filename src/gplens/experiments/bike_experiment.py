"""`gplens reproduce bike`: section 5.2, a January morning against an average noon in June, with error bars."""

from dataclasses import dataclass
from typing import Any, final

import pandas
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.datasets import Dataset, bike_sharing
from gplens.datasets.bikes import KAGGLE
from gplens.datasets.dataset import find
from gplens.estimators import GPCountRegressor, Training
from gplens.experiments.report import Report, markdown
from gplens.experiments.run import Messages
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.plots import bar
from gplens.plots.canvas import root_figure
from gplens.uncertainty import Samples

PERIODS = {"month": 12, "hour": 24}
"""The periods F of the harmonics sin(2 pi x / F), cos(2 pi x / F)."""
PLAIN = ("wind_speed", "humidity", "temperature", "working_day", "holiday")
COLUMNS = (*(f"{name}_{wave}" for name in PERIODS for wave in ("sin", "cos")), *PLAIN)
GROUPS = {name: [f"{name}_sin", f"{name}_cos"] for name in PERIODS}
Hour = dict[str, float | int]

FEATURES = ("month", "hour", *PLAIN)
TARGET: Hour = dict(zip(FEATURES, (1, 9, 20.0, 37.0, 9.02, 1, 0), strict=True))
"""The input that the paper explains: a January morning."""
PRINTED: Hour = dict(zip(FEATURES, (6, 12, 12.80, 61.89, 20.23, 1, 0), strict=True))
"""The baseline that the paper prints: average weather on a working day in June at noon."""
LEVEL = 0.9
INDUCING = 50


def encode(columns: dict[str, Float[Tensor, " b"]]) -> Float[Tensor, "b d"]:
    """Month and hour as harmonics, all other columns unchanged, in the order of COLUMNS."""
    turns = {name: 2 * torch.pi * columns[name] / period for name, period in PERIODS.items()}
    waves = [wave(turn) for turn in turns.values() for wave in (torch.sin, torch.cos)]
    return torch.stack([*waves, *(columns[name] for name in PLAIN)], dim=1)


@final
@dataclass(frozen=True, eq=False)
class BikeTable:
    """The features of the paper, each divided by its maximum."""

    X: Float[Tensor, "b d"]
    y: Float[Tensor, " b"]
    largest: Float[Tensor, " d"]
    baseline: Hour
    """The baseline of the paper, with the averages of this table."""

    @staticmethod
    def of(data: Dataset) -> "BikeTable":
        """The table of a dataset with the columns of `gplens.datasets.bike_sharing`."""
        X = encode({name: data.column(name) for name in (*PERIODS, *PLAIN)})
        averages = {name: float(data.column(name).mean()) for name in ("wind_speed", "humidity", "temperature")}
        largest = X.amax(0)
        return BikeTable(X / largest, data.y, largest, {**PRINTED, **averages})

    def row(self, hour: Hour) -> Float[Tensor, "1 d"]:
        """One hour as a row of X."""
        return encode({name: torch.tensor([value], dtype=torch.float64) for name, value in hour.items()}) / self.largest


def source() -> str:
    """A sentence that says whether these are the paper's hours, and how to get them if they are not."""
    if find(KAGGLE) is not None:
        return "The hours are the paper's: Kaggle's table, from the data folder."
    return (
        f"The hours are those of 2011, which come with gplens. For the paper's hours, put train.csv of Kaggle's Bike "
        f"Sharing Demand into the folder that GPLENS_DATA names, as {KAGGLE}."
    )


def models(seed: int, quick: bool) -> dict[str, GPCountRegressor]:
    """50 inducing points as in the paper, which start at k-means centres; and 128 in standardised columns.

    The first 50 rows, as for the synthetic data, would all be hours of one January weekend.
    """
    options = {"random_state": seed, "training": Training(steps=20) if quick else Training()}
    paper = GPCountRegressor("rbf", inducing_points=INDUCING, scaling="none", **options)
    return {"paper": paper, "default": GPCountRegressor(**options)}


def run_bike(seed: int, quick: bool, messages: Messages) -> Report:
    """Two fits, one explanation each."""
    data = bike_sharing()
    table, origin = BikeTable.of(data), source()
    messages.say(origin)
    explanations = {}
    for name, model in models(seed, quick).items():
        messages.say(f"fitting {len(table.y):,} hours: {name}")
        model.fit(table.X.numpy(), table.y.numpy())
        explanations[name] = explain_hour(model, table, draws=200 if quick else 4000, seed=seed)
    numbers = pandas.concat([_numbers(name, explanation) for name, explanation in explanations.items()])
    settings = {"experiment": "bike", "seed": seed, "hours": len(table.y), "inducing points": INDUCING, "quick": quick}
    settings |= {"level": LEVEL, "target": TARGET, "baseline": table.baseline}
    figures = {"attributions": root_figure(bar(explanations["paper"], level=LEVEL, unit="bikes per hour"))}
    page = _page(f"{data.description}\n{origin}", table, explanations, numbers, messages.spent)
    return Report(page, {"attributions": numbers}, figures, settings)


def explain_hour(model: GPCountRegressor, table: BikeTable, *, draws: int, seed: int) -> Explanation:
    """The target relative to the baseline, harmonics summed, with draws for the intervals."""
    return explain(
        model,
        table.row(TARGET),
        baseline=table.row(table.baseline)[0],
        feature_names=COLUMNS,
        groups=GROUPS,
        uncertainty=Samples(draws, seed=seed),
    )


def _numbers(model: str, e: Explanation) -> pandas.DataFrame:
    low, high = e.interval(LEVEL)
    assert e.std is not None
    columns = {"attribution": e.values[0], "low": low[0], "high": high[0], "std": e.std[0]}
    numbers = pandas.DataFrame({name: column.tolist() for name, column in columns.items()})
    numbers.insert(0, "feature", list(e.feature_names))
    numbers.insert(0, "model", model)
    return numbers


def _page(
    description: str,
    table: BikeTable,
    explanations: dict[str, Explanation],
    numbers: pandas.DataFrame,
    spent: str,
) -> str:
    baseline = {name: f"{value:.2f}".removesuffix(".00") for name, value in table.baseline.items()}
    inputs = [[name, f"{TARGET[name]:g}", baseline[name], f"{PRINTED[name]:g}"] for name in FEATURES]
    by = numbers.set_index(["model", "feature"])
    lines = [[name, *(_cell(by.loc[(model, name)]) for model in explanations)] for name in FEATURES]
    sums = [
        f"{float(e.baseline_prediction):.1f} -> {float(e.prediction):.1f}, gap {float(e.gap):.1e}, {int(e.nodes)} nodes"
        for e in explanations.values()
    ]
    return PAGE.format(
        description=description,
        inputs=markdown(["feature", "target", "baseline", "baseline printed in the paper"], inputs),
        attributions=markdown(["feature", "50 inducing points", "`GPCountRegressor(training=Training())`"], lines),
        sums=markdown(
            ["", "50 inducing points", "`GPCountRegressor(training=Training())`"], [["bikes per hour", *sums]]
        ),
        spent=spent,
    )


def _cell(numbers: Any) -> str:
    value, low, high = (float(numbers[name]) for name in ("attribution", "low", "high"))
    return "0, exactly" if value == low == high == 0 else f"{value:+.1f} ({low:+.1f} to {high:+.1f})"


PAGE = """# Bikes: a January morning against an average noon in June

{description}

Poisson counts with an exp link. Month and hour enter as sine and cosine, whose attributions are summed; each column is
divided by its maximum.

{inputs}

Attributions in bikes per hour, with central 90 % intervals of the model's posterior:

{attributions}

{sums}

![Attributions with 90 % intervals](attributions.png)

Working day and holiday are the same in target and baseline: their attributions, and the intervals, are exactly zero.
The paper shows bars without numbers and without intervals. A public version of this experiment computes the cosine of
the month as a second sine; here it is a cosine. Every number is in attributions.csv. Computed in {spent}.
"""
