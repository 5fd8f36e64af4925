"""Progress where somebody looks, and what an interruption leaves: with a real terminal and a real SIGINT."""

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens import Samples
from gplens.baselines import Rows
from gplens.calls import outcome
from gplens.display import progress
from gplens.links import Exp
from messages import naming

COUNT = 10


def explained(**options: Any) -> gplens.Explanation:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 5), rows(5, COUNT)
    settings = {"likelihood": Exp(), "uncertainty": Samples(20, seed=3), "baseline": Rows(X0)}
    return gplens.explain(posterior, X, **{**settings, **options})


def test_portions_do_not_change_results(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explained(support=True)
    monkeypatch.setattr(outcome, "ROWS", 3)
    parts = explained(support=True)
    for name, tensor in whole.tensors().items():
        torch.testing.assert_close(parts.tensors()[name], tensor, rtol=1e-9, atol=1e-9)
    assert whole.spread is not None
    assert parts.spread is not None
    for name, tensor in whole.spread.tensors().items():
        torch.testing.assert_close(parts.spread.tensors()[name], tensor, rtol=1e-9, atol=1e-9)


def stop_after(monkeypatch: pytest.MonkeyPatch, portion: int) -> None:
    """Ctrl-C in the portion after so many."""
    calls, attribute = [0], outcome.attribute

    def interrupted(*args: Any) -> Any:
        calls[0] += 1
        if calls[0] > portion:
            raise KeyboardInterrupt
        return attribute(*args)

    monkeypatch.setattr(outcome, "attribute", interrupted)
    monkeypatch.setattr(outcome, "ROWS", 3)


@pytest.mark.parametrize("options", [{}, {"groups": {"two": ["x0", "x1"]}}, {"uncertainty": None}], ids=repr)
def test_an_interruption_leaves_the_finished_inputs(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    whole = explained(**options)
    monkeypatch.setattr(outcome.Work, "_rows", lambda *_: 3)
    stop_after(monkeypatch, 2)
    with pytest.raises(gplens.Interrupted, match=naming(6, COUNT, "sys.last_value.explanation", "X[6:]")) as caught:
        explained(**options)
    assert isinstance(caught.value, KeyboardInterrupt)
    left = caught.value.explanation
    assert len(left) == 6
    for name, tensor in whole[:6].tensors().items():
        torch.testing.assert_close(left.tensors()[name], tensor, rtol=1e-9, atol=1e-9, equal_nan=True)
    assert (left.spread is None) == (whole.spread is None)
    if left.spread is not None and whole.spread is not None:
        torch.testing.assert_close(left.spread.std, whole[:6].std, rtol=1e-9, atol=1e-9)


def test_an_interruption_before_anything_is_done_is_a_plain_one(monkeypatch: pytest.MonkeyPatch) -> None:
    stop_after(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt) as caught:
        explained()
    assert not isinstance(caught.value, gplens.Interrupted)


def test_an_interruption_of_what_comes_last_leaves_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["gplens.calls.outcome"], "support_of_paths", interrupted)
    with pytest.raises(gplens.Interrupted, match=naming(COUNT)) as caught:
        explained(support=True)
    assert len(caught.value.explanation) == COUNT
    assert caught.value.explanation.support is None
    assert caught.value.explanation.std is not None


SCRIPT = """
import sys, torch, gplens
from gplens.kernels import RBF
from gplens.links import Exp
from gplens.calls import outcome
from gplens.display import progress
progress.DELAY = 0.0
outcome.ROWS = 4
asked_spread = outcome.asked_spread
def told(*args):
    print("portion", flush=True)
    return asked_spread(*args)
outcome.asked_spread = told
g = torch.Generator().manual_seed(0)
Z, y, X = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in ((20, 3), (20,), (4000, 3)))
model = gplens.Posterior.exact(RBF(torch.ones(3, dtype=torch.float64)), Z, y, noise=0.1)
try:
    gplens.explain(model, X, baseline=0.0, likelihood=Exp(), uncertainty=gplens.Samples(200, seed=0), support=False)
except gplens.Interrupted as stopped:
    e = stopped.explanation
    assert torch.equal(e.inputs, X[: len(e)])
    assert bool(e.values.isfinite().all() and e.draws.isfinite().all())
    print("left", len(e), flush=True)
"""


def run(read: Callable[[subprocess.Popen[bytes]], None], stderr: int) -> str:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=stderr)
    assert process.stdout is not None
    for _ in range(4):
        assert process.stdout.readline() == b"portion\n"
    process.send_signal(signal.SIGINT)
    read(process)
    with process.stdout:
        rest = process.stdout.read().decode()
    assert process.wait(60) == 0
    return rest


@pytest.mark.slow
def test_a_real_sigint_and_no_bar_without_a_terminal() -> None:
    text = run(lambda process: None, subprocess.STDOUT)
    assert 12 <= int(text.split("left ")[1]) < 4000
    assert "%|" not in text


@pytest.mark.slow
def test_a_bar_on_a_terminal() -> None:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    shown = bytearray()

    def read(process: subprocess.Popen[bytes]) -> None:
        os.close(slave)
        try:
            while chunk := os.read(master, 4096):
                shown.extend(chunk)
        except OSError:  # the other end is closed
            os.close(master)

    text = run(read, slave)
    assert "left" in text
    assert b"explain" in shown
    assert b"4000" in shown


def test_a_bar_if_it_is_asked_for(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(outcome, "ROWS", 3)
    explained(progress=True)
    assert "explain" in capsys.readouterr().err
    explained(progress=False)
    explained()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=naming("tqdm", "pip install tqdm")):
        explained(progress=True)
