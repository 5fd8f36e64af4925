"""Memory and rows per second of `gplens explain` on long files: peak memory must not grow with the file.

    python benchmarks/stream.py [ROWS]

A sparse model of eight features is fitted once. Files of ROWS / 10 and of ROWS rows (10^6 if left out), CSV and
Parquet, are explained in processes of their own, whose peak memory is what the operating system counts.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import csv, parquet

FEATURES, BLOCK = 8, 50_000
ALLOWED = 1.1
"""Growth of the peak memory from a file to one ten times as long."""


def model(folder: Path) -> None:
    from gplens.estimators import GPCountRegressor, Training

    X = np.random.default_rng(0).normal(size=(2000, FEATURES))
    y = np.random.default_rng(1).poisson(np.exp(np.sin(X[:, 0]) + 0.5 * X[:, 1]))
    table = pyarrow.table({f"x{k}": X[:, k] for k in range(FEATURES)})
    GPCountRegressor("rbf", inducing_points=32, training=Training(steps=100), random_state=0, progress=False).fit(
        table, y
    ).save(folder)


def write(path: Path, rows: int) -> None:
    """A block at a time, so that this process does not hold the file either."""
    schema = pyarrow.schema([(f"x{k}", pyarrow.float64()) for k in range(FEATURES)])
    generator = np.random.default_rng(2)
    kind = parquet.ParquetWriter if path.suffix == ".parquet" else csv.CSVWriter
    with kind(path, schema) as writer:
        for start in range(0, rows, BLOCK):
            X = generator.normal(size=(min(BLOCK, rows - start), FEATURES))
            writer.write_table(pyarrow.table(list(X.T), schema=schema))


def explain(folder: Path, data: Path, out: Path) -> None:
    """In a process of its own: print rows, seconds of CPU, and the peak memory in MB."""
    from gplens.batch import Options, explain_file

    began = time.process_time()
    outcome = explain_file(folder, data, out, Options())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(outcome.rows, time.process_time() - began, peak)


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        model(place / "model")
        print("| file | rows | rows per CPU second | peak memory |\n|---|---|---|---|", flush=True)
        for ending in ("parquet", "csv"):
            peaks = []
            for count in (rows // 10, rows):
                data, out = place / f"{count}.{ending}", place / f"{count}_out.{ending}"
                write(data, count)
                command = [sys.executable, __file__, "--one", str(place / "model"), str(data), str(out)]
                run = subprocess.run(command, check=True, capture_output=True, text=True)
                done, seconds, peak = map(float, run.stdout.split())
                assert done == count
                peaks.append(peak)
                print(f"| {ending} | {count:,} | {done / seconds:,.0f} | {peak:,.0f} MB |", flush=True)
                data.unlink()
                out.unlink()
            assert peaks[1] <= ALLOWED * peaks[0], f"peak memory grew from {peaks[0]:.0f} to {peaks[1]:.0f} MB"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        explain(*map(Path, sys.argv[2:]))
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else 10**6)
