"""How many nodes whole paths need, and how far their estimated errors are from the true ones: a recipe for constants.

python scripts/path_nodes.py --paths 4000      random posteriors, links and paths, as in scripts/stated_errors.py
python scripts/path_nodes.py --paths 4000 --features 60        the same with 17 to 60 features
python scripts/path_nodes.py --bikes 500       rows of the bikes model (benchmarks/trained.py)

Every path is integrated by each rule of SIZES. Printed for each kernel: true errors in units of the stated ones without
MARGIN (4.18), which has to be larger; then by path length the nodes with which an error of 1e-6 is stated, for the
first rule.
"""

import argparse
import sys
from pathlib import Path

import torch
from stated_errors import ROWS, random_case
from torch import Tensor

from gplens.expectations.expectation import ExpectedLink
from gplens.lines.line import Line, Scratch
from gplens.links import Exp
from gplens.paths.gradient import PathGradient
from gplens.paths.integrand import Question
from gplens.paths.path_rules import SIZES
from gplens.paths.whole_paths import MARGIN, WholeLines, whole_sums
from gplens.rules import Adaptive

TOLERANCE = 1e-6
LENGTHS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)


def study(question: Question, x0: Tensor, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each path and rule, relative to (4.8): the true error and the stated one; and the lengths of the paths."""
    exact = Adaptive(reach=1 / 3).integrate(PathGradient(question, x0, x), 1e-11).values[:, 0]
    shared = len(x0) == 1
    d = torch.cat([x - x0, torch.zeros_like(x[:1])]) if shared else x - x0
    columns = []
    for count in SIZES:
        sums = whole_sums(question, WholeLines(x0, d, last=shared), count, 1.0, Scratch())
        scale = torch.maximum((sums.end - sums.start)[:, 0].abs(), exact.abs().amax(1))
        true = (sums.values[:, 0] - exact).abs().amax(1)
        columns.append(torch.stack([true / scale, sums.error[:, 0] / scale], dim=1))
    errors = torch.stack(columns, dim=1).nan_to_num(nan=0.0)
    return errors[..., 0], errors[..., 1], question.process.length(Line(x0, x - x0, x.new_zeros(len(x), 0)))


def report(name: str, true: Tensor, stated: Tensor, length: Tensor) -> None:
    seen = (true > 1e-9) & (true < 0.1)
    units = MARGIN * (true / stated)[seen]
    quantiles = ", ".join(f"{float(units.quantile(q)):.2f}" for q in (0.5, 0.9, 0.99, 0.999, 1.0))
    print(
        f"{name}: {len(true)} paths; true errors over stated ones without MARGIN, 50 % to 100 %: {quantiles}",
        flush=True,
    )
    enough = stated <= TOLERANCE
    nodes = torch.where(enough.any(1), torch.tensor(SIZES)[enough.double().argmax(1)], torch.inf)
    for low, high in zip((0.0, *LENGTHS), LENGTHS, strict=False):
        chosen = nodes[(length >= low) & (length < high)]
        if len(chosen) >= 10:
            needed = ", ".join(f"{float(chosen.quantile(q, interpolation='lower')):.0f}" for q in (0.25, 0.5, 0.75))
            print(f"    {low} to {high} lengthscales: {needed} nodes (25, 50, 75 % of {len(chosen)} paths)", flush=True)


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser(description="Count the nodes that whole paths need.")
    parser.add_argument("--paths", type=int, default=0, help="random paths")
    parser.add_argument("--features", type=int, help="the random posteriors have from 17 to so many features")
    parser.add_argument("--bikes", type=int, default=0, help="rows of the bikes model")
    parser.add_argument("--seed", type=int, default=500_000, help="of the first random posterior")
    options = parser.parse_args()
    torch.set_num_threads(1)
    features = (17, options.features) if options.features else (1, 8)
    parts: dict[str, list[tuple[Tensor, Tensor, Tensor]]] = {}
    for seed in range(options.seed, options.seed + -(-options.paths // ROWS)):
        kernel, posterior, link, x0, x = random_case(seed, *features)
        found = study(Question(posterior, ExpectedLink((link,)), (0,), TOLERANCE), x0, x)
        parts.setdefault(type(kernel).__name__, []).append(found)
    if options.bikes:
        sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
        from trained import load

        work = load("bikes").workload.first(options.bikes)
        question = Question(work.prepared.process, ExpectedLink((Exp(),)), (0,), TOLERANCE)
        parts["bikes"] = [study(question, work.x0, work.X)]
    for name, found in sorted(parts.items()):
        report(name, *map(torch.cat, zip(*found, strict=True)))


if __name__ == "__main__":
    main()
