"""CPU seconds and page faults of the workloads for different sizes: the recipe of BLOCK, CHUNK, SIZE and SIZES.

BLOCK: bytes of a block of rows. CHUNK: numbers of a tensor to which operations are applied one after the other. SIZE:
numbers of the memory that blocks reuse; what does not fit is newly allocated. SIZES: nodes of the rules.
"""

import resource
from collections.abc import Callable, Iterable
from types import ModuleType

import torch

from gplens.lines import line
from gplens.paths import path_psi, path_rules, whole_paths
from gplens.processes import process, radial_posteriors
from models import Workload, images, tabular

RATIOS = {
    "1.25": (7, 9, 12, 15, 19, 24, 30, 37, 46, 58, 73, 92),
    "1.5": (12, 18, 27, 40, 60, 92),
    "2": (12, 24, 46, 92),
}
"""Sizes of rules, by the ratio of one to the next."""


def main() -> None:
    torch.set_num_threads(1)
    counts, classes = tabular(1000), images(64)
    works = {
        "d=9, n=500, 1,000 inputs": counts,
        "d=9, n=500, 20 inputs": counts.first(20),
        "d=784, C=10, 64 inputs": classes,
        "d=784, C=10, 8 inputs": classes.first(8),
    }
    for name, work in works.items():
        print(f"{name}: {int(work.explain().nodes.min())} to {int(work.explain().nodes.max())} path nodes")
    sweep("BLOCK", works, [process], {f"2^{power}": 2**power for power in range(22, 29)}.items())
    sweep("CHUNK", works, [radial_posteriors], {f"2^{power}": 2**power for power in range(13, 21, 2)}.items())
    sweep("SIZE", works, [line], {"none": 0, "16 MB": 2**21, "< 32 MB": 2**22 - 2**10, "64 MB": 2**23}.items())
    sweep("SIZES", works, [path_rules, path_psi, whole_paths], RATIOS.items())


def sweep(
    name: str, works: dict[str, Workload], modules: list[ModuleType], values: Iterable[tuple[str, object]]
) -> None:
    """Print a line for each value of a constant, which is then what it was."""
    before = getattr(modules[0], name)
    print(f"\n{name:>6}", *works, sep="   ")
    for label, value in values:
        for module in modules:
            setattr(module, name, value)
        measured = {title: best(work.explain) for title, work in works.items()}
        cells = [f"{seconds:.4f} s {faults:7,}".rjust(len(title)) for title, (seconds, faults) in measured.items()]
        print(f"{label:>6}", *cells, sep="   ", flush=True)
    for module in modules:
        setattr(module, name, before)


def best(function: Callable[[], object], repeats: int = 4) -> tuple[float, int]:
    """The fastest of some runs after a warm-up, and its page faults."""
    runs = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_SELF)
        function()
        after = resource.getrusage(resource.RUSAGE_SELF)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        runs.append((seconds, after.ru_minflt - before.ru_minflt))
    return min(runs[1:])


if __name__ == "__main__":
    main()
