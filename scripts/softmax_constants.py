"""The recipes of the constants in gplens/links/softmax, and the accuracy that they give, as small tables.

    python scripts/softmax_constants.py hermite     HERMITE of cdf.py                                   2 s
    python scripts/softmax_constants.py lattice     the 0.5 of lattice_step in cdf.py                   2 s
    python scripts/softmax_constants.py edges       LATTICE_EDGES of cdf.py, BLOCK of integral.py      20 s
    python scripts/softmax_constants.py sweep       SAFETY, STRETCH, OFFSET, STRIP of plan.py        4 min
    python scripts/softmax_constants.py stress      INNER of block.py, ROUNDS of integral.py        90 s
    python scripts/softmax_constants.py accuracy    errors against the dense oracle of the tests    90 s

`--scale 0.2` takes a fifth of the elements.
"""

import argparse
import inspect
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import product
from math import exp, pi
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gplens.expectations.softmax import block, cdf, integral, plan

Array = NDArray[np.floating]
Marginals = tuple[Tensor, Tensor]

TESTS = Path(__file__).parents[1] / "tests"
TINY_TO_HUGE = [0, 1e-30, 1e-12, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1, 4, 20, 100, 400]


def show(header: Iterable[object], rows: Iterable[Iterable[object]], width: int = 11) -> None:
    """A table; floats with three digits."""
    for row in [header, *rows]:
        print(
            " ".join(f"{cell:.3g}".rjust(width) if isinstance(cell, float) else str(cell).rjust(width) for cell in row)
        )
        sys.stdout.flush()


@contextmanager
def constants(module: ModuleType, **values: object) -> Iterator[None]:
    """Other constants for a while."""
    old = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(module, name, value)


# ---- (3.1) ----


def hermite(scale: float) -> None:
    """The largest sd at which K nodes hold L, L', L'' to epsilon, divided by epsilon^(1/2K)."""
    rows = []
    for epsilon in (1e-6, 1e-8, 1e-10, 1e-12, 1e-14):
        found = [largest_deviation(nodes, epsilon) / epsilon ** (1 / (2 * nodes)) for nodes in cdf.HERMITE]
        rows.append([epsilon, *found])
    show(["epsilon", *(f"K = {nodes}" for nodes in cdf.HERMITE)], rows)
    show(
        ["smallest", *(min(column) for column in list(zip(*rows, strict=True))[1:])],
        [["HERMITE", *cdf.HERMITE.values()]],
    )


def largest_deviation(nodes: int, epsilon: float) -> float:
    """By bisection in log sd."""
    low, high = 1e-9, 1.0
    z, w = np.polynomial.hermite_e.hermegauss(nodes)
    for _ in range(22):
        sd = (low * high) ** 0.5
        error = np.abs(gumbel_sums(sd * z, w / w.sum()) - lattice_sums(sd, min(0.04, sd / 8))).max()
        low, high = (sd, high) if error < epsilon else (low, sd)
    return low


def gumbel_sums(f: Array, w: Array) -> Array:
    """sum_n w_n of exp(-x), x exp(-x), (x^2 - x) exp(-x) at x = exp(f_n - s) for many s."""
    s = np.arange(-8, 12, 0.0437)
    x = np.exp(f - s[:, None])
    E = np.exp(-x)
    return np.stack([E @ w, (x * E) @ w, ((x * x - x) * E) @ w])


def lattice_sums(sd: float, h: float, offset: float = 0.0) -> Array:
    """(3.1) at m = 0 by a trapezoid of step h in f."""
    count = int(np.ceil(9 * sd / h))
    f = (np.arange(-count, count + 1) + offset) * h
    w = np.exp(-f * f / (2 * sd * sd))
    return gumbel_sums(f, w / w.sum())


def lattice(scale: float) -> None:
    """The error of a lattice over w^2 exp(-a), which lattice_step takes to be 0.5; '-' where rounding is in the way."""
    steps = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6)
    rows = []
    for sd in (0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 3.0, 10.0):
        reference = lattice_sums(sd, 0.04)
        errors = [max(np.abs(lattice_sums(sd, h, o) - reference).max() for o in (0, 0.25, 0.5, 0.7)) for h in steps]
        rows.append([sd, *(float(e / law(sd, h)) if e > 1e-13 else "-" for e, h in zip(errors, steps, strict=True))])
    show(["sd", *(f"h = {h}" for h in steps)], rows)


def law(sd: float, h: float) -> float:
    """w^2 exp(-a) at w = 2 pi/h, as in lattice_step."""
    w = 2 * pi / h
    a = (sd * w) ** 2 / 2 if sd**2 * w <= pi / 2 else pi * w / 2 - pi**2 / (8 * sd**2)
    return w * w * exp(-a)


def edges(scale: float) -> None:
    """CPU time in ms of 1024 x 10 classes, v uniform in [0, 4] and the square of a uniform in [0, 1]."""
    draw = Draw(0)
    count = int(1024 * scale)
    sets = [
        (3 * draw.normal(count, 10), 4 * draw.uniform(count, 10)),
        (3 * draw.normal(count, 10), draw.uniform(count, 10) ** 2),
    ]
    rows = []
    for choice in (
        (0.5,),
        (0.2, 0.5),
        (0.15, 0.3, 0.5),
        (0.15, 0.2, 0.27, 0.36, 0.5),
        (0.15, 0.2, 0.27, 0.36, 0.5, 1.0),
    ):
        with constants(cdf, LATTICE_EDGES=choice):
            rows.append([str(choice), *(cpu_time(pair) for pair in sets)])
    show(["LATTICE_EDGES", "v < 4", "v < 1"], rows, width=16)
    rows = []
    for size in (10_000, 20_000, 40_000, 64_000, 80_000, 160_000):
        with constants(integral, BLOCK=size):
            rows.append([size, *(cpu_time(pair) for pair in sets)])
    show(["BLOCK", "v < 4", "v < 1"], rows, width=16)


def cpu_time(pair: Marginals, repeats: int = 9) -> float:
    """The best of some runs, in ms."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        integral.softmax_moments(*pair)
        best = min(best, time.process_time() - start)
    return 1e3 * best


# ---- (3.2) to (3.4) ----


class Draw:
    """Random tensors in float64."""

    def __init__(self, seed: int) -> None:
        self.options = {"generator": torch.Generator().manual_seed(seed), "dtype": torch.float64}

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(*shape, **self.options)

    def uniform(self, *shape: int) -> Tensor:
        return torch.rand(*shape, **self.options)

    def choice(self, *shape: int) -> Tensor:
        every = torch.tensor(TINY_TO_HUGE, dtype=torch.float64)
        return every[torch.randint(len(every), shape, generator=self.options["generator"])]


class Record:
    """What the blocks of an integral cost: attempts per element, nodes summed over elements and attempts."""

    def __init__(self) -> None:
        self.attempts, self.work, self.most = np.zeros(0, int), 0, 0

    @contextmanager
    def of(self, count: int) -> Iterator[None]:
        self.attempts, self.work, self.most = np.zeros(count, int), 0, 0
        evaluate = integral.evaluate

        def counted(part: plan.Plan, tolerance: float) -> block.Block:
            done = evaluate(part, tolerance)
            self.attempts[part.rows.numpy()] += 1
            self.work += done.l.shape[2] * len(part.rows)
            self.most = max(self.most, done.l.shape[2])
            return done

        with constants(integral, evaluate=counted):
            yield


def workloads(n: int) -> dict[str, Marginals]:
    """What the sweep is judged by."""
    draw = Draw(0)
    equal = torch.tensor([0, 0.01, 0.1, 1, 10, 30, 100, 400], dtype=torch.float64)[:, None]
    return {
        "typical": (3 * draw.normal(n, 10), 0.01 + 3.99 * draw.uniform(n, 10)),
        "narrow": (3 * draw.normal(n, 10), 0.001 + 0.2 * draw.uniform(n, 10)),
        "v = 0": (3 * draw.normal(n, 10), torch.zeros(n, 10, dtype=torch.float64)),
        "wide": (3 * draw.normal(n, 10), 100 * draw.uniform(n, 10)),
        "C = 2": (3 * draw.normal(n, 2), torch.exp(12 * draw.uniform(n, 2) - 6)),
        "extreme": (200 * draw.uniform(n, 10) - 100, 400 * draw.uniform(n, 10) ** 6),
        "100 equal": (torch.zeros(8, 100, dtype=torch.float64), equal.expand(8, 100).clone()),
        "10 equal": (torch.zeros(8, 10, dtype=torch.float64), equal.expand(8, 10).clone()),
    }


def sweep(scale: float) -> None:
    """Nodes per element, attempts included, summed over the workloads; and elements done more than once, in per cent.

    For each tolerance: the four best choices of a grid, the one in the code, and one constant of it changed at a time.
    """
    sets = workloads(max(8, int(100 * scale)))
    axes = ((0.6, 0.65, 0.7), (5.0, 6.0, 6.5, 8.0), (4.0, 6.0, 7.0, 8.0), (1.0, 0.1, 0.01))
    code = (plan.SAFETY, plan.STRETCH, plan.OFFSET, plan.STRIP)
    changed = [(*code[:k], x, *code[k + 1 :]) for k, axis in enumerate(axes) for x in axis if x != code[k]]
    for tolerance in (1e-6, 1e-9, 1e-11):
        found = {choice: effort(choice, sets, tolerance) for choice in product(*axes)}
        best = sorted(found, key=lambda choice: found[choice][0])[:4]
        print(f"\ntolerance {tolerance:g}: nodes, and % done again of {', '.join(sets)}")
        rows = [[*choice, *found[choice]] for choice in [*best, code, *changed]]
        show(["SAFETY", "STRETCH", "OFFSET", "STRIP", "nodes"], rows, width=8)


def effort(choice: tuple[float, ...], sets: dict[str, Marginals], tolerance: float) -> tuple[int, str]:
    """Nodes over all workloads, and the share of elements done again in each."""
    total, again = 0.0, []
    record = Record()
    names = ("SAFETY", "STRETCH", "OFFSET", "STRIP")
    with constants(plan, **dict(zip(names, choice, strict=True))):
        for m, v in sets.values():
            with record.of(len(m)):
                for _ in integral.integrate(m, v, tolerance):
                    pass
            total += record.work / len(m)
            again.append(f"{100 * (record.attempts > 1).mean():.0f}%")
    return round(total), "  ".join(again)


def stress(scale: float) -> None:
    """Elements by the attempts they took, over mixtures of variances and |m| to 100; then fewer elements, by INNER."""
    rows = []
    for classes, count in ((2, 6000), (3, 4000), (5, 2000), (10, 2000), (50, 300), (300, 40)):
        for tolerance in (1e-6, 1e-9, 1e-11, 1e-12):
            tried = trial(classes, int(count * scale), tolerance)
            rows.append([classes, tolerance, *tried.attempts, tried.nodes, tried.most, tried.sums, tried.columns])
    header = ["C", "tolerance", "1 attempt", "2", "3", "more", "nodes", "most", "|sum - 1|", "columns"]
    show(header, rows, width=9)
    rows = []
    for share in (10, 30, 100, 300, 1000):
        with constants(block, INNER=1 / share):
            tried = [trial(c, int(400 * scale), tolerance) for c, tolerance in product((2, 3, 10), (1e-6, 1e-9, 1e-11))]
        attempts = np.sum([each.attempts for each in tried], axis=0).tolist()
        rows.append([f"1/{share}", *attempts, float(np.mean([each.nodes for each in tried]))])
    show(["INNER", "1 attempt", "2", "3", "more", "nodes"], rows, width=9)


class Trial(NamedTuple):
    """Elements by attempts (1, 2, 3, more), nodes of an element on average and at most, and what the sums miss."""

    attempts: list[int]
    nodes: float
    most: int
    sums: float
    columns: float


def trial(classes: int, count: int, tolerance: float) -> Trial:
    """One tolerance, four spreads of the means, variances from a list or log-uniform from 1e-4 to 400."""
    draw, record = Draw(5), Record()
    count = max(4, count)
    attempts, work, most, sums, columns = np.zeros(4, int), 0, 0, 0.0, 0.0
    for spread, listed in product((0.1, 3.0, 30.0, 100.0), (True, False)):
        m = spread * (2 * draw.uniform(count // 2, classes) - 1)
        v = draw.choice(*m.shape) if listed else torch.exp(15 * draw.uniform(*m.shape) - 9)
        with record.of(len(m)):
            result = integral.softmax_moments(m, v, tolerance=tolerance)
        attempts += np.bincount(np.minimum(record.attempts, 4), minlength=5)[1:]
        work, most = work + record.work, max(most, record.most)
        sums = max(sums, float((result.value.sum(1) - 1).abs().max()))
        columns = max(columns, *(float(part.sum(1).abs().max()) for part in result.jacobian()))
    return Trial(attempts.tolist(), work / int(attempts.sum()), most, sums, columns)


def accuracy(scale: float) -> None:
    """The largest errors against (3.2) to (3.4) by one dense trapezoid, and the identities."""
    sys.path.insert(0, str(TESTS))
    from oracles.softmax import dense

    rows = []
    for name, (m, v) in regimes(scale).items():
        references = [dense(*pair) for pair in zip(m.numpy(), v.numpy(), strict=True)]
        for tolerance in (1e-6, 1e-9, 1e-11):
            result = integral.softmax_moments(m, v, tolerance=tolerance)
            got = (result.value, *result.jacobian())
            wanted = (np.stack(part) for part in zip(*references, strict=True))
            errors = [float(np.abs(g.numpy() - w).max()) for g, w in zip(got, wanted, strict=True)]
            sums = [float((result.value.sum(1) - 1).abs().max()), max(float(x.sum(1).abs().max()) for x in got[1:])]
            nodes = sum(part.l.shape[2] * len(part.rows) for part in result.blocks) / len(m)
            rows.append([name, len(m), tolerance, *errors, *sums, round(nodes)])
    show(["", "elements", "tolerance", "value", "by m", "by v", "|sum - 1|", "columns", "nodes"], rows)


def regimes(scale: float) -> dict[str, Marginals]:
    """From two classes to a thousand, from v = 0 to 400."""
    draw = Draw(0)

    def of(count: int) -> int:
        return max(2, int(count * scale))

    def any_variance(count: int, classes: int, spread: float) -> Marginals:
        return spread * (2 * draw.uniform(of(count), classes) - 1), draw.choice(of(count), classes)

    n, ones = of(60), torch.ones(1, 1000, dtype=torch.float64)
    wide = torch.tensor([9.0, 50, 400], dtype=torch.float64)[torch.arange(n) % 3]
    return {
        "2 any": any_variance(40, 2, 5),
        "3 any": any_variance(40, 3, 30),
        "10 typical": (3 * draw.normal(n, 10), 0.01 + 3.99 * draw.uniform(n, 10)),
        "10 any": any_variance(60, 10, 100),
        "10 close": any_variance(60, 10, 3),
        "10 v = 0": (2 * draw.normal(n, 10), torch.zeros(n, 10, dtype=torch.float64)),
        "10 wide": (5 * draw.normal(n, 10), wide[:, None] * ones[:, :10]),
        "10 narrow": (draw.normal(n, 10), torch.exp(11.5 * draw.uniform(n, 10) - 9.2)),
        "100 any": any_variance(6, 100, 9),
        "1000": (3 * draw.normal(of(2), 1000), 0.01 + 3.99 * draw.uniform(of(2), 1000)),
        "1000 equal": (0 * ones.repeat(2, 1), torch.tensor([[0.04], [0.5]], dtype=torch.float64) * ones),
    }


RECIPES: dict[str, Callable[[float], None]] = {
    recipe.__name__: recipe for recipe in (hermite, lattice, edges, sweep, stress, accuracy)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", choices=RECIPES)
    parser.add_argument("--scale", type=float, default=1.0, help="the share of the elements to take")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    recipe = RECIPES[arguments.recipe]
    print(inspect.getdoc(recipe))
    recipe(arguments.scale)


if __name__ == "__main__":
    main()
