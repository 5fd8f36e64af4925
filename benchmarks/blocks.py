"""CPU seconds of the workloads for blocks of different sizes: the recipe of BLOCK in gplens/paths/engine.py."""

from time import process_time

import torch

from gplens.paths import engine
from models import images, tabular


def main() -> None:
    torch.set_num_threads(1)
    works = {"d=9, n=500, 2,000 inputs": tabular(2000), "d=784, C=10, 64 inputs": images(64)}
    print(f"{'bytes':>6}", *works, sep="   ")
    for power in range(21, 30):
        engine.BLOCK = 2**power
        print(f"2^{power:<4}", *(f"{best(work.explain):{len(name)}.3f}" for name, work in works.items()), sep="   ")


def best(function: object, repeats: int = 3) -> float:
    """The smallest of some runs after a warm-up."""
    times = []
    for _ in range(repeats + 1):
        start = process_time()
        function()  # type: ignore[operator]
        times.append(process_time() - start)
    return min(times[1:])


if __name__ == "__main__":
    main()
