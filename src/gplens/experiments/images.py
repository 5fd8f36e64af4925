"""`gplens reproduce mnist` and `fashion`: section 5.2 and Appendix E.2, as in the paper and at real quality."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import final

import pandas
import torch

from gplens.datasets import Dataset, Split, fashion_mnist, mnist
from gplens.estimators import GPClassifier
from gplens.experiments import rivals, study
from gplens.experiments.classifiers import FILES, MODELS, PRECISION
from gplens.experiments.image_page import page
from gplens.experiments.image_plots import panels
from gplens.experiments.progress import Progress
from gplens.experiments.result import Result
from gplens.experiments.scoring import measure

QUICK = study.Size(images=3, orders=50, draws=100, steps=8, scored=6, scored_orders=5)
QUICK_ROWS = 2000


def run_mnist(seed: int, quick: bool, progress: Progress) -> Result:
    """Handwritten digits."""
    return run("MNIST", mnist, [str(digit) for digit in range(10)], seed, quick, progress)


def run_fashion(seed: int, quick: bool, progress: Progress) -> Result:
    """Articles of clothing."""
    names = ["top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
    return run("Fashion-MNIST", fashion_mnist, names, seed, quick, progress)


@final
@dataclass(frozen=True, eq=False)
class Outcome:
    """What one model gives."""

    accuracy: float
    shown: list[study.Shown]
    scores: pandas.DataFrame


def run(title: str, load: Callable[[], Split], names: list[str], seed: int, quick: bool, progress: Progress) -> Result:
    """Both models on one data set."""
    rivals.check_captum()
    data, size = load(), QUICK if quick else study.Size()
    train = _first(data.train, QUICK_ROWS if quick else len(data.train.X))
    found = {}
    for name, make in MODELS.items():
        progress.say(f"fits {len(train.X):,} images of {title} with {name}")
        model = make(seed, quick).fit(train.X.numpy(), train.y.numpy())
        found[name] = examine(model, data.test, size, seed, PRECISION[name], progress)
    figures = {FILES[name]: panels(own.shown, names) for name, own in found.items()}
    settings = {"experiment": title, "seed": seed, "quick": quick, "training images": len(train.X), **asdict(size)}
    settings |= {"models": {name: repr(make(seed, quick)) for name, make in MODELS.items()}}
    scores = _joined({name: own.scores for name, own in found.items()})
    tables = {
        "images": _joined({name: _images(own) for name, own in found.items()}),
        "pixels": _joined({name: _pixels(own) for name, own in found.items()}),
        "curves": _joined({name: _curves(own) for name, own in found.items()}),
        "scores": scores.drop(columns="seconds"),
    }
    text = page(title, {name: own.accuracy for name, own in found.items()}, tables["images"], scores, names, size)
    return Result(text + f"\nComputed in {progress.spent}.\n", tables, figures, settings)


def examine(
    model: GPClassifier, test: Dataset, size: study.Size, seed: int, dtype: torch.dtype, progress: Progress
) -> Outcome:
    """Accuracy, the images shown, the metrics."""
    X, labels = test.X.double(), test.y.long()
    accuracy = float(model.score(test.X.numpy(), test.y.numpy()))
    progress.say(f"accuracy {accuracy:.4f}; explains and ablates {size.images} images")
    rows = study.first_of_each(labels, size.images)
    process = study.read(model, X[rows])
    shown = [
        study.show(process, X[row], row, int(labels[row]), size, seed + i, dtype)
        for i, row in enumerate(progress.each(rows, "images explained"))
    ]
    progress.say(f"scores {size.scored} images, three methods")
    scored = slice(size.scored)
    return Outcome(accuracy, shown, measure(model, X[scored], labels[scored], size, seed, dtype, progress))


def _first(data: Dataset, rows: int) -> Dataset:
    return Dataset(data.X[:rows], data.y[:rows], data.feature_names, data.description)


def _joined(each: dict[str, pandas.DataFrame]) -> pandas.DataFrame:
    return pandas.concat([own.assign(model=name) for name, own in each.items()], ignore_index=True)


def _images(own: Outcome) -> pandas.DataFrame:
    return pandas.DataFrame(
        {
            "row": one.row,
            "label": one.label,
            "probability": one.probability,
            "baseline": one.baseline_probability,
            "sum": float(one.values.sum()),
            "miss": one.miss,
            "pixels": len(one.ordered) - 1,
            "positive": one.sign_change,
            "sure": int(((one.low > 0) | (one.high < 0)).sum()),
            "nodes": one.nodes,
            "accuracy": own.accuracy,
        }
        for one in own.shown
    )


def _pixels(own: Outcome) -> pandas.DataFrame:
    each = [
        pandas.DataFrame({"row": one.row, "pixel": range(len(one.values)), "attribution": one.values.numpy()}).assign(
            low=one.low.numpy(), high=one.high.numpy()
        )
        for one in own.shown
    ]
    return pandas.concat(each, ignore_index=True).query("attribution != 0")


def _curves(own: Outcome) -> pandas.DataFrame:
    each = []
    for one in own.shown:
        counts = {"ordered": range(len(one.ordered)), "random": one.counts.tolist()}
        curves = {"ordered": one.ordered.numpy(), "random": one.random.numpy()}
        each += [
            pandas.DataFrame({"row": one.row, "curve": name, "replaced": counts[name], "difference": curves[name]})
            for name in curves
        ]
    return pandas.concat(each, ignore_index=True)
