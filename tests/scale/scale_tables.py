"""Parquet files of known rows, results in the order of the rows, and the processes that a Ray cluster consists of."""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet


def table(rows: int, seed: int = 0) -> pyarrow.Table:
    """Rows for `small_model`: two numbers, a category and a key; every 97th row has a missing number."""
    r = np.random.default_rng(seed)
    a = r.normal(size=rows)
    missing = np.arange(rows) % 97 == 5
    columns = {"a": pyarrow.array(a, mask=missing), "b": r.normal(size=rows), "c": r.choice(["x", "y", "z"], rows)}
    return pyarrow.table({**columns, "key": np.arange(rows) * 7})


def write_files(folder: Path, rows: pyarrow.Table, *, files: int, group: int) -> Path:
    """The rows in so many files, the names of which are in their order."""
    folder.mkdir(parents=True)
    for k, numbers in enumerate(np.array_split(np.arange(rows.num_rows), files)):
        part = rows.slice(int(numbers[0]), len(numbers))
        parquet.write_table(part, folder / f"{k:04d}.parquet", row_group_size=group)
    return folder


def read_results(folder: Path) -> pyarrow.Table:
    """All rows of all parts, in the order of the names of the parts."""
    parts = sorted(folder.glob("*.parquet"))
    return pyarrow.concat_tables([parquet.read_table(part) for part in parts])


def check_same_rows(got: pyarrow.Table, expected: pyarrow.Table, tolerance: float = 1e-12) -> None:
    """Row by row and column by column: numbers within the tolerance, everything else equal."""
    assert got.schema.names == expected.schema.names
    assert got.num_rows == expected.num_rows
    for name in expected.schema.names:
        a, b = got[name], expected[name]
        if pyarrow.types.is_floating(b.type):
            assert a.is_valid().equals(b.is_valid()), name
            x, y = (column.drop_null().to_numpy() for column in (a, b))
            assert np.all(np.abs(x - y) <= tolerance * (1 + np.abs(y))), name
        else:
            assert a.equals(b), name


def descendants(root: int) -> dict[int, str]:
    """Command lines of the processes below one, by their ids."""
    parents: dict[int, int] = {}
    lines: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "status").read_text()
                lines[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:  # it has ended
                continue
            parent = re.search(r"^PPid:\s*(\d+)", status, re.MULTILINE)
            assert parent is not None
            parents[int(entry.name)] = int(parent[1])
    found, wanted = {}, {root}
    while wanted:
        wanted = {child for child, parent in parents.items() if parent in wanted and child not in found}
        found |= {child: lines.get(child, "") for child in wanted}
    return found


def workers_below(root: int, name: str) -> list[int]:
    """Processes of Ray's actors of a class."""
    return sorted(pid for pid, line in descendants(root).items() if line.startswith(f"ray::{name}"))


def kill_one(pids: list[int]) -> int:
    """SIGKILL to the first of some processes."""
    os.kill(pids[0], 9)
    return pids[0]


def numbers(column: Any) -> list[Any]:
    return column.to_pylist()
