"""CPU seconds, page faults and path nodes of the workloads for blocks of different sizes: the recipe of BLOCK.

Run it once more with MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=67108864 in the environment to see what
glibc's malloc gains by keeping freed pages, which is the choice of whoever runs the process.
"""

import resource
from collections.abc import Callable

import torch

from gplens.paths import blocks
from models import images, tabular


def main() -> None:
    torch.set_num_threads(1)
    works = {"d=9, n=500, 1,000 inputs": tabular(1000), "d=784, C=10, 64 inputs": images(64)}
    for name, work in works.items():
        print(f"{name}: {int(work.explain().nodes.min())} to {int(work.explain().nodes.max())} path nodes")
    print(f"{'bytes':>6}", *works, sep="   ")
    for power in range(21, 30):
        blocks.BLOCK = 2**power
        measured = {name: best(work.explain) for name, work in works.items()}
        cells = [f"{seconds:.3f} s {faults:7,}".rjust(len(name)) for name, (seconds, faults) in measured.items()]
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
