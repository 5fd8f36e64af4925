"""CPU seconds and page faults of the workloads for blocks of different sizes: the recipe of BLOCK and keep_freed().

python benchmarks/blocks.py                what gplens does
python benchmarks/blocks.py handed-back    malloc left as it is
"""

import resource
import sys
from collections.abc import Callable
from importlib import import_module

import torch

from gplens.paths import gradient
from models import images, tabular


def main() -> None:
    torch.set_num_threads(1)
    if sys.argv[1:] == ["handed-back"]:
        import_module("gplens.explain").keep_freed = lambda: None
    works = {"d=9, n=500, 1,000 inputs": tabular(1000), "d=784, C=10, 64 inputs": images(64)}
    print(f"{'bytes':>6}", *works, sep="   ")
    for power in range(21, 30):
        gradient.BLOCK = 2**power
        each = {name: best(work.explain) for name, work in works.items()}
        cells = [f"{seconds:.3f} s {faults:7,}".rjust(len(name)) for name, (seconds, faults) in each.items()]
        print(f"2^{power:<4}", *cells, sep="   ", flush=True)


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
