"""Two threads against one, each in a process of its own, which take turns; and two processes against one.

python benchmarks/threads.py mnist 64 2     waits for lines on standard input, answers each with the times of a turn
"""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import torch

from timing import Ratio, Times, ratio_of_turns, turn
from trained import load


class Worker:
    """A process with a number of threads that explains the first rows of a trained model when it is asked to."""

    def __init__(self, name: str, rows: int, threads: int, folder: Path | None) -> None:
        command = [sys.executable, __file__, name, str(rows), str(threads), str(folder or "")]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.stdin.close()
        self.process.wait()

    def begin(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def times(self) -> Times:
        """The times of the turn that has begun."""
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"expected the times of a turn, got the end of a worker ({self.process.wait()}).")
        return Times(*map(float, answer.split()))

    def turn(self) -> Times:
        self.begin()
        return self.times()


def two_against_one(name: str, rows: int, folder: Path | None, repeats: int = 5) -> Ratio:
    """How many times longer one thread takes than two, after a warm-up."""
    with Worker(name, rows, 2, folder) as two, Worker(name, rows, 1, folder) as one:
        two.turn(), one.turn()
        return ratio_of_turns(two.turn, one.turn, repeats)


def two_processes_against_one(name: str, rows: int, folder: Path | None, repeats: int = 5) -> Ratio:
    """How many times more rows two processes of one thread explain than one: what two cores of the machine give."""
    with Worker(name, rows, 1, folder) as first, Worker(name, rows, 1, folder) as second:

        def both() -> Times:
            """Half of the time in which each explains all rows, while the other does."""
            first.begin(), second.begin()
            return Times(*(sum(pair) / 4 for pair in zip(first.times(), second.times(), strict=True)))

        both(), first.turn()
        return ratio_of_turns(both, first.turn, repeats)


def main(name: str, rows: str, threads: str, folder: str = "") -> None:
    torch.set_num_threads(int(threads))
    work = load(name, Path(folder) if folder else None).workload.first(int(rows))
    for _ in sys.stdin:
        print(*turn(work.explain), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
