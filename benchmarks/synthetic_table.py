"""The second table of `make bench`: random models whose paths are about a lengthscale long, and how costs grow."""

from collections.abc import Iterator
from pathlib import Path

import torch

import gplens
from growth import grow
from models import Workload, binary, images, tabular
from rivals import DRAWS, classes_by_captum, counts_by_captum
from rows import Row, error, faster, slower
from timing import ratio


def tabular_row() -> Row:
    work = tabular(1000)
    exact = work.explain(tolerance=1e-11).values
    measured = ratio(work.explain, lambda: counts_by_captum(work, 2000), repeats=3)
    accuracy = error(work.explain().values, exact), error(counts_by_captum(work, 2000), exact)
    return faster("d=9, n=500, exp link, 1,000 inputs", "Captum, 50 steps", measured, "10x", *accuracy)


def image_row(all_classes: bool) -> Row:
    work = images(32)
    outputs, classes = (None, range(10)) if all_classes else ([3], range(3, 4))
    exact = work.explain(outputs=outputs, tolerance=1e-10).values
    rival = classes_by_captum(work, classes, 512, 32)
    measured = ratio(
        lambda: work.explain(outputs=outputs), lambda: classes_by_captum(work, classes, 512, 32), repeats=3
    )
    accuracy = error(work.explain(outputs=outputs).values, exact), error(rival, exact)
    name = f"d=784, C=10, n=100 each, 32 inputs, {'all classes' if all_classes else 'one class'}"
    wanted = "100x" if all_classes else "10x"
    return faster(name, f"Captum, 32 steps, {DRAWS} softmax draws", measured, wanted, *accuracy)


def products_row() -> Row:
    """Distances to the support points, A k, and the sums back to the features: nothing but the products."""
    work = images(32)
    nodes, channels = int(work.explain().nodes[0]), 2 * 10
    x, Z, A = (torch.randn(*shape, dtype=torch.float64) for shape in ((32, 784), (10, 100, 784), (10, 100, 100)))
    k, W = (torch.randn(10, rows, 100, dtype=torch.float64) for rows in (32 * nodes, 32 * channels))

    def bare() -> None:
        for c in range(10):
            _ = x @ Z[c].T, k[c] @ A[c], W[c] @ Z[c]

    return slower("the same, all classes", "its bare matrix products", ratio(bare, work.explain, repeats=7), "4x")


def growth_row(kind: str, what: str) -> Row:
    found = grow(kind)
    (small, _, _), (_, base, _), *_, (large, seconds, _) = found
    growth = f"{large // found[1][0]:,}x more take {seconds / base:.3g}x as long"
    peak = ", ".join(f"{megabytes:.0f}" for _, _, megabytes in found)
    return Row(f"{what} from {small:,} to {large:,}", "itself", f"{growth}; temporaries of {peak} MB", "linear, flat")


def single_row() -> Row:
    work = tabular(1)

    def predict() -> None:
        with torch.no_grad():
            f = work.model(work.X)
            _ = f.mean, f.variance

    measured = ratio(predict, work.explain, repeats=15)
    return slower("d=9, n=500, one input, warm", "GPyTorch's prediction of it", measured, "3x")


def deviation_row(name: str, work: Workload, wanted: str) -> Row:
    measured = ratio(work.explain, lambda: work.explain(uncertainty=gplens.Diagonal()), repeats=3)
    return slower(f"{name}, with `Diagonal()`", "the values alone", measured, wanted)


def synthetic(_: Path | None) -> Iterator[Row]:
    yield tabular_row()
    yield image_row(True)
    yield image_row(False)
    yield products_row()
    yield single_row()
    yield deviation_row("d=9, n=500, exp link, 500 inputs", tabular(500), "30x")
    yield deviation_row("d=784, n=100, binary, 48 inputs", binary(48), "50x")
    yield growth_row("features", "features, binary, n=100, 8 inputs,")
    yield growth_row("rows", "inputs, d=9, n=50, exp link,")
