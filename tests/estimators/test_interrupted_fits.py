"""Fits in a process of their own, on a terminal: the progress bar, and Ctrl-C as the signal that a terminal sends."""

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import pytest

pytestmark = pytest.mark.slow
PATIENCE = 300.0
"""Seconds after which something that does not happen is an error."""
START = """
import json, sys, warnings
import numpy as np, torch
from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor, Training
torch.set_num_threads(1)
r = np.random.default_rng(0)
X = r.normal(size=(12_000, 6))
f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
"""
FITS = {
    "exact": "model, n, y = GPRegressor('matern52', exact_rows=3000), 2500, f + 0.1 * r.normal(size=12_000)",
    "sparse": "model, n, y = GPRegressor('matern52', exact_rows=0), 10_000, f + 0.1 * r.normal(size=12_000)",
    "counts": "model, n, y = GPCountRegressor(training=Training(steps=100_000)), 10_000, r.poisson(np.exp(f))",
    "classes": "model, n, y = GPClassifier(), 10_000, np.digitize(f, [-0.5, 0.5])",
}
FIT = """
model.set_params(random_state=0)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    model.fit(X[:n], y[:n])
summary = model.training_summary_
print(json.dumps({
    "stopped": summary["stopped"], "steps": summary["steps"], "held_back": summary.get("held_back"),
    "said": [str(each.message) for each in said], "score": model.score(X[10_000:], y[10_000:]),
    "attributions": model.explain(X[:2], baseline=X[2]).values.shape[0],
}))
"""


@pytest.mark.parametrize("name", FITS)
def test_ctrl_c_keeps_the_best_model_of_a_fit_on_a_terminal(name: str, tmp_path: Path) -> None:
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))  # not on Windows
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    code = START + FITS[name] + FIT
    with (tmp_path / "printed").open("w") as printed:
        child = subprocess.Popen([sys.executable, "-c", code], stdout=printed, stderr=theirs)
    os.close(theirs)
    shown: list[bytes] = []
    reader = Thread(target=_read, args=(ours, shown), daemon=True)
    reader.start()
    end = time.monotonic() + PATIENCE
    while b" per row" not in b"".join(shown):  # the bar, with the value of an evaluation
        assert time.monotonic() < end
        assert child.poll() is None, b"".join(shown).decode()
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=PATIENCE) == 0, b"".join(shown).decode()
    reader.join()
    os.close(ours)
    result = json.loads((tmp_path / "printed").read_text())
    assert result["stopped"] == "interrupted"
    assert any("interrupted" in sentence and "best model is kept" in sentence for sentence in result["said"])
    assert result["attributions"] == 2
    assert result["score"] > {"classes": 0.5}.get(name, 0.0)  # of three classes, and better than the average


def _read(terminal: int, shown: list[bytes]) -> None:
    """What a terminal shows, until the other side is closed."""
    try:
        while part := os.read(terminal, 10_000):
            shown.append(part)
    except OSError:  # how Linux says that the other side is closed
        return
