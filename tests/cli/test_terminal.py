"""The command in a process of its own: on a terminal, interrupted by Ctrl-C, and killed."""

import fcntl
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

pytestmark = pytest.mark.slow
PATIENCE = 300.0
"""Seconds after which something that does not happen is an error."""
ROWS = 24_000
COMMAND = ["-m", "gplens", "explain", "model", "data.parquet"]


@pytest.fixture
def place(small_model: Path, tmp_path: Path) -> Path:
    shutil.copytree(small_model / "model", tmp_path / "model")
    r = np.random.default_rng(1)
    columns = {"a": r.normal(size=ROWS), "b": r.normal(size=ROWS), "c": r.choice(["x", "y", "z"], ROWS)}
    parquet.write_table(pyarrow.table(columns), tmp_path / "data.parquet")
    return tmp_path


def whole(place: Path) -> pyarrow.Table:
    run(place, "--out", "whole.parquet")
    return parquet.read_table(place / "whole.parquet")


def run(place: Path, *more: str) -> str:
    done = subprocess.run([sys.executable, *COMMAND, *more], cwd=place, capture_output=True, text=True, check=True)
    return done.stdout


def wait_for(condition: Iterator[bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not next(condition):
        assert time.monotonic() < end
        time.sleep(0.02)


def parts(place: Path, count: int) -> Iterator[bool]:
    while True:
        yield len(list(place.glob("out.parquet.parts/*.json"))) > count  # the manifest is one of them


def check_same(place: Path) -> None:
    """Row for row what an undisturbed run writes."""
    ours, theirs = parquet.read_table(place / "out.parquet"), whole(place)
    assert ours.schema == theirs.schema
    assert ours["row"].to_pylist() == list(range(ROWS))
    for name in ("prediction", "attribution:a", "attribution:b", "attribution:c"):
        np.testing.assert_allclose(ours[name].to_numpy(), theirs[name].to_numpy(), rtol=1e-12, atol=1e-12)
    assert sorted(path.name for path in place.iterdir()) == ["data.parquet", "model", "out.parquet", "whole.parquet"]


@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # of JAX, if another test loaded it: the child is replaced
def test_ctrl_c_on_a_terminal_says_how_to_go_on_and_a_kill_loses_nothing(place: Path) -> None:
    """Progress in rows per second, Ctrl-C, `--resume`, SIGKILL, `--resume`: the same file as an undisturbed run."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, *COMMAND, "--out", "out.parquet"],
        cwd=place,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_take_terminal,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )
    os.close(slave)
    shown = _read_until(master, b"rows/s")
    wait_for(parts(place, 1))
    os.write(master, b"\x03")  # what the terminal sends for Ctrl-C
    shown += _read_until(master, b"--resume")
    assert process.wait(PATIENCE) == 130
    os.close(master)
    text = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", shown.decode())
    assert f"{ROWS}" in text.replace(",", "")
    assert "interrupted after" in text
    assert "Traceback" not in text
    done = len(list(place.glob("out.parquet.parts/*.arrow")))
    assert not (place / "out.parquet").exists()
    killed = subprocess.Popen([sys.executable, *COMMAND, "--out", "out.parquet", "--resume"], cwd=place)
    wait_for(parts(place, done + 2))
    killed.send_signal(signal.SIGKILL)
    killed.wait(PATIENCE)
    assert not (place / "out.parquet").exists()
    said = run(place, "--out", "out.parquet", "--resume")
    assert "done by the run before" in said
    check_same(place)


def _take_terminal() -> None:
    """In the new process: its terminal is the one at standard input, and Ctrl-C counts even if the tests ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_until(master: int, word: bytes) -> bytes:
    shown, end = b"", time.monotonic() + PATIENCE
    while word not in shown:
        assert time.monotonic() < end, shown
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:  # the terminal was closed
                break
    return shown
