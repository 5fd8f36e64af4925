"""make bench: every figure a ratio measured in one run, next to the accuracy that each side reached."""

import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import captum
import gpytorch
import torch
from captum.attr import IntegratedGradients
from torch import Tensor

import gplens
from growth import grow
from models import Workload, binary, images, tabular
from timing import ratio

RESULTS = Path(__file__).parent / "results.md"
HEAD = """# Benchmarks

Measured by `make bench` on {date}, one thread, Python {python}, {used}.

Ratios are medians of interleaved turns after a warm-up (smallest to largest); a turn of less than half a second is
repeated until then, and counts with its mean. Errors are relative to the largest
attribution of a run at a tolerance of 1e-11 (1e-10 for classes). Sizes grow in processes of their own; what is printed
of memory is the peak beside inputs and result; growth in time is counted from the second size,
where fixed costs no longer show.

"""
DRAWS = 256


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    workload: str
    against: str
    measured: str
    wanted: str
    ours: float | None = None
    theirs: float | None = None

    def __str__(self) -> str:
        errors = ["-" if number is None else f"{number:.1e}" for number in (self.ours, self.theirs)]
        return "| " + " | ".join([self.workload, self.against, self.measured, self.wanted, *errors]) + " |"


def counts_by_captum(work: Workload, batch: int) -> Tensor:
    """Captum's default of 50 Gauss-Legendre steps over GPyTorch autograd of E exp(f)."""

    def response(x: Tensor) -> Tensor:
        f = work.model(x)
        return torch.exp(f.mean + f.variance / 2)

    x0 = work.x0.expand_as(work.X)
    return IntegratedGradients(response).attribute(work.X, x0, n_steps=50, internal_batch_size=batch)


def classes_by_captum(work: Workload, classes: range, batch: int) -> Tensor:
    """32 steps for each class, softmax averaged over 256 fixed draws."""
    count = work.model.variational_strategy.num_tasks
    z = torch.randn(DRAWS, 1, count, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def response(x: Tensor) -> Tensor:
        f = work.model(x)
        return torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)

    ig = IntegratedGradients(response)
    each = [
        ig.attribute(work.X, work.x0.expand_as(work.X), target=c, n_steps=32, internal_batch_size=batch)
        for c in classes
    ]
    return torch.stack(each, dim=1)


def error(values: Tensor, exact: Tensor) -> float:
    """The largest difference relative to the largest attribution."""
    return float((values - exact).abs().max() / exact.abs().max())


def tabular_row() -> Row:
    work = tabular(2000)
    exact = work.explain(tolerance=1e-11).values
    measured = ratio(work.explain, lambda: counts_by_captum(work, 2000), repeats=3)
    accuracy = error(work.explain().values, exact), error(counts_by_captum(work, 2000), exact)
    return Row("d=9, n=500, exp link, 2,000 inputs", "Captum, 50 steps", f"{measured} faster", "10x", *accuracy)


def image_row(all_classes: bool) -> Row:
    work = images(64)
    outputs, classes = (None, range(10)) if all_classes else ([3], range(3, 4))
    exact = work.explain(outputs=outputs, tolerance=1e-10).values
    measured = ratio(lambda: work.explain(outputs=outputs), lambda: classes_by_captum(work, classes, 512), repeats=3)
    accuracy = error(work.explain(outputs=outputs).values, exact), error(classes_by_captum(work, classes, 512), exact)
    name = f"d=784, C=10, n=100 each, 64 inputs, {'all classes' if all_classes else 'one class'}"
    wanted = "100x" if all_classes else "10x"
    return Row(name, f"Captum, 32 steps, {DRAWS} softmax draws", f"{measured} faster", wanted, *accuracy)


def products_row() -> Row:
    """Distances to the support points, A k, and the sums back to the features: nothing but the products."""
    work = images(64)
    nodes, channels = int(work.explain().nodes[0]), 2 * 10
    x, Z, A = (torch.randn(*shape, dtype=torch.float64) for shape in ((64, 784), (10, 100, 784), (10, 100, 100)))
    k, W = (torch.randn(10, rows, 100, dtype=torch.float64) for rows in (64 * nodes, 64 * channels))

    def bare() -> None:
        for c in range(10):
            _ = x @ Z[c].T, k[c] @ A[c], W[c] @ Z[c]

    measured = ratio(bare, work.explain, repeats=7)
    return Row("the same, all classes", "its bare matrix products", f"{measured} slower", "4x")


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

    measured = ratio(predict, work.explain, repeats=31)
    return Row("d=9, n=500, one input, warm", "GPyTorch's prediction of it", f"{measured} slower", "3x")


def deviation_row(name: str, work: Workload, wanted: str) -> Row:
    measured = ratio(work.explain, lambda: work.explain(uncertainty=gplens.Diagonal()), repeats=3)
    return Row(f"{name}, with `Diagonal()`", "the values alone", f"{measured} slower", wanted)


MEASURES: tuple[Callable[[], Row], ...] = (
    tabular_row,
    lambda: image_row(True),
    lambda: image_row(False),
    products_row,
    single_row,
    lambda: deviation_row("d=9, n=500, exp link, 2,000 inputs", tabular(2000), "30x"),
    lambda: deviation_row("d=784, n=100, binary, 48 inputs", binary(48), "50x"),
    lambda: growth_row("features", "features, binary, n=100, 8 inputs,"),
    lambda: growth_row("rows", "inputs, d=9, n=50, exp link,"),
)


def main() -> None:
    torch.set_num_threads(1)
    lines = ["| workload | against | measured | wanted | our error | their error |", "|---|---|---|---|---|---|"]
    print("\n".join(lines))
    versions = {"gplens": gplens, "torch": torch, "GPyTorch": gpytorch, "Captum": captum}
    used = ", ".join(f"{name} {package.__version__}" for name, package in versions.items())
    head = HEAD.format(date=date.today(), python=platform.python_version(), used=used)
    for measure in MEASURES:
        lines.append(str(measure()))
        print(lines[-1], flush=True)
        RESULTS.write_text(head + "\n".join(lines) + "\n")  # after each, so that a run that is stopped leaves its rows


if __name__ == "__main__":
    sys.exit(main())
