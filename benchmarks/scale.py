"""Memory and overhead of many files on a Ray cluster of this machine, against the local engine.

    python benchmarks/scale.py [ROWS]

A sparse model of eight features explains a tenth of ROWS rows (2,000,000 if left out), in row groups of 20,000: on the
local engine, with two workers, and with two workers whose output is slower than their input; then all ROWS with the
slow output. The peak memory of a worker must not grow with the rows. CPU seconds are those of the driver and the
workers, who load Python and the model first.
"""

import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

from gplens.scale import Engine, Local, Ray, explain_dataset
from gplens.scale.run_folder import Record, RunFolder
from gplens.scale.unit_task import UnitTask
from gplens.scale.work_list import Unit
from stream import FEATURES, model

FILES, GROUP = 10, 20_000
ALLOWED = 1.1
"""Growth of the peak memory of a worker from some rows to ten times as many."""
PAUSE = 3.0
"""Seconds by which the slow output delays each record."""


@dataclass(frozen=True)
class SlowFolder(RunFolder):  # type: ignore[misc]
    """A folder that takes its time over each record."""

    def record(self, record: Record) -> None:
        time.sleep(PAUSE)
        super().record(record)


class SlowRay(Engine):
    """Two workers that write to a slow folder."""

    def run(self, task: UnitTask, units: Sequence[Unit]) -> Iterator[Record]:
        task.folder = SlowFolder(task.folder.place)
        return Ray(workers=2).run(task, units)


def write(folder: Path, rows: int) -> Path:
    folder.mkdir()
    generator = np.random.default_rng(2)
    schema = pyarrow.schema([(f"x{k}", pyarrow.float64()) for k in range(FEATURES)])
    for k in range(FILES):
        with parquet.ParquetWriter(folder / f"{k:04d}.parquet", schema) as writer:
            for start in range(0, rows // FILES, GROUP):
                X = generator.normal(size=(min(GROUP, rows // FILES - start), FEATURES))
                writer.write_table(pyarrow.table(list(X.T), schema=schema))
    return folder


class Watched(threading.Thread):
    """The largest resident memory and the CPU seconds of each worker, watched from outside."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks: dict[int, float] = {}
        self.seconds: dict[int, float] = {}
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.2):
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        if (entry / "cmdline").read_bytes().startswith(b"ray::Worker"):
                            self._look(int(entry.name), entry)
                    except OSError:  # it has ended
                        continue

    def _look(self, pid: int, entry: Path) -> None:
        size = int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
        ticks = sum(map(int, (entry / "stat").read_text().rpartition(")")[2].split()[11:13]))
        self.peaks[pid] = max(self.peaks.get(pid, 0.0), size)
        self.seconds[pid] = ticks / os.sysconf("SC_CLK_TCK")


def measure(place: Path, data: Path, engine: Engine, name: str) -> tuple[float, float, float]:
    """Seconds, CPU seconds of this process and of the workers, and the peak of a worker in MB (of this one if none)."""
    watch = Watched()
    watch.start()
    began, spent = time.monotonic(), time.process_time()
    explain_dataset(place / "model", data, place / name, engine=engine)
    seconds, used = time.monotonic() - began, time.process_time() - spent
    watch.ended.set()
    watch.join()
    peak = max(watch.peaks.values(), default=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return seconds, used + sum(watch.seconds.values()), peak


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        model(place / "model")
        few, many = (write(place / str(count), count) for count in (rows // 10, rows))
        print("| engine | rows | seconds | CPU seconds | peak of a worker |\n|---|---|---|---|---|", flush=True)
        peaks, costs = [], []
        runs = (("local", Local(), few), ("Ray, 2 workers", Ray(workers=2), few))
        for label, engine, data in (*runs, ("the same, slow output", SlowRay(), few), ("the same", SlowRay(), many)):
            seconds, used, peak = measure(place, data, engine, f"{label} {data.name}")
            peaks.append(peak)
            costs.append(used)
            print(f"| {label} | {int(data.name):,} | {seconds:.0f} | {used:.1f} | {peak:.0f} MB |", flush=True)
        further = (costs[3] - costs[2]) / (rows - rows // 10) * 1e6
        local = costs[0] / (rows // 10) * 1e6
        print(f"CPU seconds per 10^6 rows: {local:.0f} on the local engine, {further:.0f} on Ray after its start")
        assert peaks[3] <= ALLOWED * peaks[2], f"the peak of a worker grew from {peaks[2]:.0f} to {peaks[3]:.0f} MB"


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 2_000_000)
