"""The first table of `make bench`: trained models, whose paths are many lengthscales long and whose links are steep."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

import gplens
from models import Workload
from rivals import DRAWS, classes_by_captum, counts_by_captum, posterior_mean_by_captum, predictions_by_differences
from rows import Row, calls, error, faster, slower
from threads import two_against_one, two_processes_against_one
from timing import ratio
from trained import Trained

CAPTUM = "Captum, 50 steps"
CAPTUM_OF_CLASSES = f"Captum, 50 steps, {DRAWS} softmax draws"
DIFFERENCES = "central differences of `predict`, 50 steps"
CLASS = 3
"""The class that is explained where it is one."""
POINTS = {"counts": 2000, "classes": 512, "posterior mean": 2000}
"""Points of paths that Captum takes at once. Of 500, 1,000, 2,000, 5,000 and 20,000, 2,000 was fastest for counts; 512
is what the experiments of the paper take for classes."""

Rival = Callable[[Workload], Tensor]


def together(
    title: str, work: Workload, against: str, rival: Rival, wanted: str, *, outputs: list[int] | None = None
) -> Row:
    """All rows in one call of each side; our error is against a run at tolerance 1e-11, or 1e-10 for classes."""
    return _compared(title, work, [work], against, rival, wanted, outputs)


def one_at_a_time(
    title: str, work: Workload, against: str, rival: Rival, wanted: str, *, outputs: list[int] | None = None
) -> Row:
    """A call for each row, with a model that is read once."""
    single = [work.row(i) for i in range(len(work.X))]
    return _compared(f"{title}, one at a time", work, single, against, rival, wanted, outputs)


def _compared(
    title: str,
    work: Workload,
    parts: Sequence[Workload],
    against: str,
    rival: Rival,
    wanted: str,
    outputs: list[int] | None,
) -> Row:
    def ours() -> Tensor:
        return torch.cat([part.explain(outputs=outputs).values for part in parts])

    def theirs() -> Tensor:
        return torch.cat([rival(part) for part in parts])

    exact = work.explain(outputs=outputs, tolerance=1e-11 if outputs is None else 1e-10).values
    measured = ratio(ours, theirs)
    return faster(title, against, measured, wanted, error(ours(), exact), error(theirs(), exact))


def with_deviations(title: str, work: Workload, wanted: str) -> Row:
    measured = ratio(work.explain, lambda: work.explain(uncertainty=gplens.Diagonal()), repeats=3)
    return slower(f"{title}, with `Diagonal()`", "the values alone", measured, wanted)


def with_checks(title: str, work: Workload, wanted: str) -> Row:
    """What every call compares: the model and its likelihood with the live ones, and the support of a few paths."""
    likelihood = work.prepared.likelihood
    unchecked = replace(
        work.prepared, compare=lambda points, at: (), likelihood=likelihood and replace(likelihood, near=None)
    )

    def bare() -> gplens.Explanation:
        return gplens.explain(unchecked, work.X, baseline=work.x0[0], support=False)

    return slower(f"{title}, with its checks", "the same without them", ratio(bare, work.explain), wanted)


def with_background(title: str, work: Workload, inputs: int, wanted: str) -> Row:
    """Inputs against a background of as many rows, and the same paths as pairs, each of them on its own."""
    x, background = work.X[:inputs], work.X[-inputs:]
    pairs = gplens.baselines.Rows(background.repeat(inputs, 1))

    def averaged() -> Tensor:
        return gplens.explain(work.prepared, x, baseline=gplens.baselines.Sample(background)).values

    def separate() -> Tensor:
        values = gplens.explain(work.prepared, x.repeat_interleave(inputs, 0), baseline=pairs).values
        return values.unflatten(0, (inputs, inputs)).mean(1)

    against = f"its {inputs**2} paths as pairs"
    measured, off = ratio(averaged, separate, repeats=3), error(averaged(), separate())
    return faster(f"{title}, a background of {inputs}", against, measured, wanted, off, off)


def bikes(work: Workload) -> Iterator[Row]:
    rival = partial(counts_by_captum, points=POINTS["counts"])
    yield together("bikes, 400 rows", work.first(400), CAPTUM, rival, ">= 18x")
    yield with_checks("bikes, 400 rows", work.first(400), "<= 1.1x")
    yield one_at_a_time("bikes, 20 rows", work.first(20), CAPTUM, rival, ">= 6x")
    yield with_deviations("bikes, 100 rows", work.first(100), "<= 25x")
    yield with_background("bikes, 20 rows", work, 20, "-")
    yield Row("bikes, one warm row", "-", f"{calls(work.first(1).explain):,} Python calls", "< 4,000")


def classes(title: str, work: Workload, all_classes: str, one_class: str, one_image: str) -> Iterator[Row]:
    """Three lines, with what is wanted of each."""
    ten, one = (partial(classes_by_captum, classes=which, points=POINTS["classes"]) for which in (range(10), [CLASS]))
    title_of_one = f"{title}, 4 images, one class"
    yield together(
        f"{title}, 16 images, all classes", work.first(16), CAPTUM_OF_CLASSES, ten, all_classes, outputs=list(range(10))
    )
    yield together(f"{title}, 16 images, one class", work.first(16), CAPTUM_OF_CLASSES, one, one_class, outputs=[CLASS])
    yield one_at_a_time(title_of_one, work.first(4), CAPTUM_OF_CLASSES, one, one_image, outputs=[CLASS])


def mnist(work: Workload) -> Iterator[Row]:
    yield from classes("MNIST, 100 points a class", work, ">= 90x", ">= 14x", ">= 6x")


def fashion(work: Workload) -> Iterator[Row]:
    yield from classes("Fashion-MNIST, 100 points a class", work, "-", "-", "-")


def shared(work: Workload) -> Iterator[Row]:
    rival = partial(classes_by_captum, classes=[CLASS], points=POINTS["classes"])
    title = "MNIST, 1,200 shared points, 16 images, one class"
    yield together(title, work.first(16), CAPTUM_OF_CLASSES, rival, ">= 10x", outputs=[CLASS])


def botorch(work: Workload) -> Iterator[Row]:
    rival = partial(posterior_mean_by_captum, points=POINTS["posterior mean"])
    yield together("BoTorch, 400 rows", work.first(400), CAPTUM, rival, "-")
    yield one_at_a_time("BoTorch, 20 rows", work.first(20), CAPTUM, rival, "-")
    yield with_deviations("BoTorch, 100 rows", work.first(100), "-")


def sklearn(work: Workload) -> Iterator[Row]:
    rival = predictions_by_differences
    yield together("scikit-learn, 50 rows", work.first(50), DIFFERENCES, rival, "-")
    yield one_at_a_time("scikit-learn, 5 rows", work.first(5), DIFFERENCES, rival, "-")
    yield with_deviations("scikit-learn, 10 rows", work.first(10), "-")


def threads(folder: Path | None) -> Iterator[Row]:
    titles = {("mnist", 64): "MNIST, 100 points a class, 64 images, all classes", ("bikes", 2000): "bikes, 2,000 rows"}
    for (name, rows), title in titles.items():
        measured = two_against_one(name, rows, folder)
        yield faster(f"{title}, two threads", "one thread", measured, ">= 1.7x")
        limit = two_processes_against_one(name, rows, folder)
        yield faster(f"{title}, two processes at once", "one process", limit, "-")


PARTS: dict[str, Callable[[Workload], Iterator[Row]]] = {
    "bikes": bikes,
    "mnist": mnist,
    "fashion": fashion,
    "shared": shared,
    "botorch": botorch,
    "sklearn": sklearn,
}
"""What is measured of each trained model."""


def models(trained: Sequence[Trained]) -> str:
    """A table of the models, from which one sees that they were trained."""
    lines = ["| model | held-out score | training |", "|---|---|---|"]
    lines += [f"| {model.title} | {model.score} | {model.cpu_seconds:.0f} s of CPU |" for model in trained]
    return "\n".join(lines)
