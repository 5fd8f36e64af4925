"""How time and memory grow with the rows and with the features, each size in a process of its own.

python benchmarks/growth.py rows 1000      one size: seconds, and megabytes beside the inputs and the result
python benchmarks/growth.py features 784
"""

import json
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import torch

from models import Workload, binary, tabular

ROWS = (1_000, 10_000, 100_000, 1_000_000)
FEATURES = (100, 1_000, 10_000, 150_528)


def measure(kind: str, size: int) -> tuple[float, float]:
    """Seconds of a second explanation, and the peak of memory above what was there before it, less its result."""
    torch.set_num_threads(1)
    work = tabular(size, n=50) if kind == "rows" else binary(8, d=size)
    Workload(work.model, work.likelihood, work.X[:8], work.x0).explain()  # reads the model, warms up
    before, start = _fresh_peak(), perf_counter()
    result = work.explain()
    seconds = perf_counter() - start
    parts = [part.untyped_storage() for part in vars(result).values() if isinstance(part, torch.Tensor)]
    held = {part.data_ptr(): part.nbytes() for part in parts} | {work.X.untyped_storage().data_ptr(): 0}
    return seconds, max(0.0, _peak() - before - sum(held.values()) / 2**20)


def _fresh_peak() -> float:
    """What is resident now, from where the kernel's count of the peak begins again."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _status(field: str) -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) / 2**10


def grow(kind: str) -> list[tuple[int, float, float]]:
    """All sizes."""
    sizes = ROWS if kind == "rows" else FEATURES
    found = []
    for size in sizes:
        run = subprocess.run([sys.executable, __file__, kind, str(size)], check=True, capture_output=True, text=True)
        found.append((size, *json.loads(run.stdout)))
    return found


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
