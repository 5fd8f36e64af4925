"""make bench: every figure a ratio measured in one run, next to the accuracy that each side reached."""

import platform
import sys
from datetime import date
from pathlib import Path

import captum
import gpytorch
import torch
from captum.attr import IntegratedGradients
from torch import Tensor

import gplens
from models import Workload, binary, images, tabular
from timing import ratio

RESULTS = Path(__file__).parent / "results.md"
DRAWS = 256


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


def tabular_row() -> list[str]:
    work = tabular(2000)
    exact = work.explain(tolerance=1e-11).values
    theirs = ratio(work.explain, lambda: counts_by_captum(work, 2000), repeats=3)
    accuracy = error(work.explain().values, exact), error(counts_by_captum(work, 2000), exact)
    return row("d=9, n=500, exp link, 2,000 inputs", "Captum, 50 Gauss-Legendre steps", str(theirs), *accuracy)


def image_row(all_classes: bool) -> list[str]:
    work = images(64)
    outputs, classes = (None, range(10)) if all_classes else ([3], range(3, 4))
    exact = work.explain(outputs=outputs, tolerance=1e-10).values
    repeats = 1 if all_classes else 3
    theirs = ratio(lambda: work.explain(outputs=outputs), lambda: classes_by_captum(work, classes, 512), repeats)
    accuracy = error(work.explain(outputs=outputs).values, exact), error(classes_by_captum(work, classes, 512), exact)
    name = f"d=784, C=10, n=100 each, 64 inputs, {'all classes' if all_classes else 'one class'}"
    return row(name, f"Captum, 32 steps, {DRAWS} softmax draws", str(theirs), *accuracy)


def deviation_row() -> list[str]:
    work = binary(16)
    cost = ratio(work.explain, lambda: work.explain(uncertainty=gplens.Diagonal()), repeats=3)
    return row("d=784, n=100, Bernoulli, 16 inputs", "itself with `Diagonal()`", str(cost), 0.0, 0.0)


def row(work: str, against: str, measured: str, ours: float, theirs: float) -> list[str]:
    return [work, against, measured, f"{ours:.1e}" if ours else "-", f"{theirs:.1e}" if theirs else "-"]


def main() -> None:
    torch.set_num_threads(1)
    lines = ["| workload | against | takes longer by | our error | their error |", "|---|---|---|---|---|"]
    for measure in (tabular_row, deviation_row, lambda: image_row(False), lambda: image_row(True)):
        lines.append("| " + " | ".join(measure()) + " |")
        print(lines[-1], flush=True)
    versions = {"gplens": gplens, "torch": torch, "GPyTorch": gpytorch, "Captum": captum}
    used = ", ".join(f"{name} {package.__version__}" for name, package in versions.items())
    head = (
        f"# Benchmarks\n\nMeasured by `make bench` on {date.today()}, one thread, Python {platform.python_version()},\n"
    )
    note = (
        "Ratios are medians of interleaved repeats (smallest to largest); errors relative to the largest attribution."
    )
    RESULTS.write_text(f"{head}{used}.\n\n{note}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
