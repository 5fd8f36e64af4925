"""`gplens reproduce mnist` and `fashion`: section 5.2 and Appendix E.2, as in the paper and at real quality."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import final

import pandas
import torch

from gplens.datasets import Dataset, Split, fashion_mnist, mnist
from gplens.estimators import GPClassifier
from gplens.experiments.comparison import check_captum, measure
from gplens.experiments.figures import panels
from gplens.experiments.image_models import FILES, MODELS, PRECISION
from gplens.experiments.image_page import page
from gplens.experiments.report import Report
from gplens.experiments.run import Messages
from gplens.experiments.study import ImageStudy, Size, first_of_each, study

QUICK = Size(images=3, orders=50, draws=100, steps=8, scored=6, scored_orders=5)
QUICK_ROWS = 2000


def run_mnist(seed: int, quick: bool, messages: Messages) -> Report:
    """The experiment with handwritten digits (MNIST)."""
    return run("MNIST", mnist, [str(digit) for digit in range(10)], seed, quick, messages)


def run_fashion(seed: int, quick: bool, messages: Messages) -> Report:
    """The experiment with articles of clothing (Fashion-MNIST)."""
    names = ["top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
    return run("Fashion-MNIST", fashion_mnist, names, seed, quick, messages)


@final
@dataclass(frozen=True, eq=False)
class ImageResults:
    """What the experiment finds for one model."""

    accuracy: float
    studies: list[ImageStudy]
    scores: pandas.DataFrame


def run(title: str, load: Callable[[], Split], names: list[str], seed: int, quick: bool, messages: Messages) -> Report:
    """Both models on one data set."""
    check_captum()
    data, size = load(), QUICK if quick else Size()
    train = _first(data.train, QUICK_ROWS if quick else len(data.train.X))
    outcomes = {}
    for name, make in MODELS.items():
        messages.say(f"fitting {len(train.X):,} images of {title} with {name}")
        model = make(seed, quick).fit(train.X.numpy(), train.y.numpy())
        outcomes[name] = examine(model, data.test, size, seed, PRECISION[name], messages)
    figures = {FILES[name]: panels(outcome.studies, names) for name, outcome in outcomes.items()}
    settings = {"experiment": title, "seed": seed, "quick": quick, "training images": len(train.X), **asdict(size)}
    settings |= {"models": {name: repr(make(seed, quick)) for name, make in MODELS.items()}}
    scores = _joined({name: outcome.scores for name, outcome in outcomes.items()})
    tables = {
        "images": _joined({name: _images(outcome) for name, outcome in outcomes.items()}),
        "pixels": _joined({name: _pixels(outcome) for name, outcome in outcomes.items()}),
        "curves": _joined({name: _curves(outcome) for name, outcome in outcomes.items()}),
        "scores": scores.drop(columns="seconds"),
    }
    accuracy = {name: outcome.accuracy for name, outcome in outcomes.items()}
    text = page(title, accuracy, tables["images"], scores, names, size)
    return Report(text + f"\nComputed in {messages.spent}.\n", tables, figures, settings)


def examine(
    model: GPClassifier, test: Dataset, size: Size, seed: int, dtype: torch.dtype, messages: Messages
) -> ImageResults:
    """The accuracy of a model, studies of the images shown, and metrics."""
    X, labels = test.X.double(), test.y.long()
    accuracy = float(model.score(test.X.numpy(), test.y.numpy()))
    messages.say(f"accuracy {accuracy:.4f}; explaining and ablating {size.images} images")
    rows = first_of_each(labels, size.images)
    studies = [
        study(model.posterior_, X[row], row, int(labels[row]), size, seed + i, dtype)
        for i, row in enumerate(messages.each(rows, "images explained"))
    ]
    messages.say(f"scoring {size.scored} images, three methods")
    scored = slice(size.scored)
    return ImageResults(accuracy, studies, measure(model, X[scored], labels[scored], size, seed, dtype, messages))


def _first(data: Dataset, rows: int) -> Dataset:
    return Dataset(data.X[:rows], data.y[:rows], data.feature_names, data.description)


def _joined(tables: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    return pandas.concat([table.assign(model=name) for name, table in tables.items()], ignore_index=True)


def _images(outcome: ImageResults) -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "row": image.row,
            "label": image.label,
            "probability": image.probability,
            "baseline": image.baseline_probability,
            "sum": float(image.values.sum()),
            "miss": image.miss,
            "pixels": len(image.ordered) - 1,
            "positive": image.sign_change,
            "certain": int(((image.low > 0) | (image.high < 0)).sum()),
            "nodes": image.nodes,
            "accuracy": outcome.accuracy,
        }
        for image in outcome.studies
    )


def _pixels(outcome: ImageResults) -> pandas.DataFrame:
    tables = [
        pandas.DataFrame(
            {
                "row": image.row,
                "pixel": range(len(image.values)),
                "attribution": image.values.numpy(),
                "low": image.low.numpy(),
                "high": image.high.numpy(),
            }
        )
        for image in outcome.studies
    ]
    return pandas.concat(tables, ignore_index=True).query("attribution != 0")


def _curves(outcome: ImageResults) -> pandas.DataFrame:
    tables = []
    for image in outcome.studies:
        curves = {"ordered": (range(len(image.ordered)), image.ordered), "random": (image.counts, image.random)}
        for name, (counts, curve) in curves.items():
            columns = {"row": image.row, "curve": name, "replaced": list(map(int, counts)), "difference": curve.numpy()}
            tables.append(pandas.DataFrame(columns))
    return pandas.concat(tables, ignore_index=True)
