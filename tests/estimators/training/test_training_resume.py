"""A fit that is killed, interrupted or watched."""

import json
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open

from gplens.estimators import Adam, EarlyStopping, GPClassifier, GPRegressor, NaturalGradients, Training, evidence_fit
from gplens.estimators.training import checkpoint, climb, loop
from messages import naming

KILLED = """
import os, signal, sys
from gplens.estimators.training.loop import Loop
sys.path[:0] = sys.argv[1].split(os.pathsep)
from test_training_resume import fit
step = Loop._step
def killed(self, number, *rest):
    if number == 31:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, number, *rest)
Loop._step = killed
fit(sys.argv[2], sys.argv[3])
"""
OPTIMIZERS = {"natural": NaturalGradients(), "adam": Adam()}


def fit(optimizer: str, folder: str) -> GPClassifier:
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = np.digitize(X[:, 0] + X[:, 1] ** 2, [0, 1])
    training = Training(steps=60, batch=100, optimizer=OPTIMIZERS[optimizer], checkpoint_every=7)
    model = GPClassifier(inducing_points=20, training=training, random_state=0)
    return model.fit(X, y, checkpoint=folder)


@pytest.mark.parametrize("optimizer", ["natural", pytest.param("adam", marks=pytest.mark.slow)])
def test_a_killed_fit_resumes_to_the_same_model(optimizer: str, tmp_path: Path) -> None:
    """SIGKILL in step 31, a checkpoint of step 28: every tensor equals that of a fit that was left alone."""
    whole, folder = fit(optimizer, str(tmp_path / "whole")), tmp_path / "killed"
    folders = os.pathsep.join([str(Path(__file__).parent), str(Path(__file__).parents[2])])
    command = [sys.executable, "-c", KILLED, folders, optimizer, str(folder)]
    threads = str(torch.get_num_threads())  # sums round differently on another number of threads
    killed = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": threads})
    assert killed.returncode == -signal.SIGKILL
    with safe_open(folder / checkpoint.NAME, framework="pt") as file:
        assert json.loads(file.metadata()["gplens"])["step"] == 28
    resumed = fit(optimizer, str(folder))
    for name, tensor in whole.model_.state_dict().items():
        assert torch.equal(tensor, resumed.model_.state_dict()[name]), name
    assert not (folder / checkpoint.NAME).exists()


def _table() -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(200, 3))
    return X, np.where(X[:, 0] > 0, "a", "b")


def _stop_at(monkeypatch: pytest.MonkeyPatch, number: int, act: object) -> None:
    step = loop.Loop._step

    def acting(self: loop.Loop, now: int, *rest: object) -> float:
        if now == number:
            act()  # type: ignore[operator]
        return step(self, now, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(loop.Loop, "_step", acting)


def test_ctrl_c_keeps_what_was_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    (X, y), before = _table(), signal.getsignal(signal.SIGINT)
    _stop_at(monkeypatch, 25, lambda: signal.raise_signal(signal.SIGINT))
    model = GPClassifier(inducing_points=20, training=Training(steps=100_000), random_state=0)
    with pytest.warns(UserWarning, match=naming(26)):
        model.fit(X, y)
    assert model.training_summary_["stopped"] == "interrupted"
    assert model.score(X, y) > 0.9
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_in_an_exact_fit_keeps_the_best_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGINT in the fifth evaluation of the evidence: the model is the best of the first five, and can predict."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * X[:, 1]
    evaluate, values, before = evidence_fit.log_evidence, [], signal.getsignal(signal.SIGINT)

    def interrupted(*parts: object) -> torch.Tensor:
        value = evaluate(*parts)  # type: ignore[arg-type]
        values.append(float(value.detach()))
        if len(values) == 5:
            signal.raise_signal(signal.SIGINT)
        return value

    monkeypatch.setattr(evidence_fit, "log_evidence", interrupted)
    with pytest.warns(UserWarning, match="interrupted after"):
        model = GPRegressor().fit(X, y)
    assert model.training_summary_["stopped"] == "interrupted"
    assert len(values) == 5  # the second kernel is not tried any more
    kept = len(X) * model.training_summary_["log_evidence_per_row"]
    assert kept > values[0] + 1
    assert kept == pytest.approx(max(values), abs=1)  # the best includes the prior of the hyperparameters
    assert model.score(X, y) > 0.5
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("evaluations", [1, 2, 6, 11])
def test_ctrl_c_in_an_exact_fit_keeps_the_best_of_any_number_of_evaluations(
    evaluations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the prior of the hyperparameters, the evidence is what is maximised."""
    X = np.random.default_rng(1).normal(size=(40, 2))
    evaluate, values = evidence_fit.log_evidence, []

    def interrupted(*parts: object) -> torch.Tensor:
        value = evaluate(*parts)  # type: ignore[arg-type]
        values.append(float(value.detach()))
        if len(values) == evaluations:
            signal.raise_signal(signal.SIGINT)
        return value

    monkeypatch.setattr(evidence_fit, "log_evidence", interrupted)
    monkeypatch.setattr(evidence_fit, "log_prior", lambda *parts: 0.0)
    with pytest.warns(UserWarning, match="interrupted after"):
        model = GPRegressor("matern52").fit(X, np.sin(3 * X[:, 0]))
    assert len(values) == evaluations
    assert len(X) * model.training_summary_["log_evidence_per_row"] == pytest.approx(max(values), rel=1e-12)


def test_ctrl_c_in_a_sparse_fit_keeps_the_best_of_the_looks_and_the_last_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is made to be largest at the second look, after ten steps."""
    values = iter([-1.0, -0.5, -0.9])
    monkeypatch.setattr(loop.Loop, "bound", lambda self, seed: next(values))
    _stop_at(monkeypatch, 12, lambda: signal.raise_signal(signal.SIGINT))
    training = Training(batch=50, stopping=EarlyStopping(every=5, patience=9, fraction=0.2))
    with pytest.warns(UserWarning, match=naming(13)):
        model = GPClassifier(inducing_points=5, training=training, random_state=0).fit(*_table())
    assert model.training_summary_["best_step"] == 10
    assert model.training_summary_["elbo_per_row"] == -0.5


def test_an_exact_fit_says_why_it_stopped() -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    summary = GPRegressor().fit(X, X[:, 0]).training_summary_
    assert summary["stopped"] in ("the evidence no longer grew", "all steps done")
    assert (summary["stopped"] == "all steps done") == (summary["steps"] == climb.ITERATIONS)


def test_a_second_ctrl_c_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    _stop_at(monkeypatch, 2, twice)
    with pytest.raises(KeyboardInterrupt):
        GPClassifier(inducing_points=20, training=Training(), random_state=0).fit(*_table())


def test_a_fit_in_another_thread_works() -> None:
    """Where signals cannot be caught."""
    model, (X, y) = GPClassifier(inducing_points=5, training=Training(steps=5), random_state=0), _table()
    thread = threading.Thread(target=model.fit, args=(X, y))
    thread.start()
    thread.join()
    assert model.training_summary_["steps"] == 5


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (X, y), model = _table(), GPClassifier(inducing_points=5, training=Training(checkpoint_every=1), random_state=0)
    with monkeypatch.context() as patch:
        _stop_at(patch, 3, lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            model.fit(X, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"another fit.*checkpoint\.safetensors"):
        model.fit(X + 1, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"another fit.*checkpoint\.safetensors"):
        model.set_params(kernel="rbf").fit(X, y, checkpoint=tmp_path)
    (tmp_path / checkpoint.NAME).write_bytes(b"short")
    with pytest.raises(ValueError, match=r"checkpoint\.safetensors.*damaged.*delete"):
        model.fit(X, y, checkpoint=tmp_path)


def test_early_stopping_keeps_the_best_of_what_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound of held-out rows is made to fall after the second look."""
    values, bound = iter([-1.0, -0.5, -0.7, -0.8, -0.9]), loop.Loop.bound
    monkeypatch.setattr(loop.Loop, "bound", lambda self, seed: next(values))
    stopping = EarlyStopping(every=5, patience=2, fraction=0.2)
    model = GPClassifier(inducing_points=5, training=Training(batch=50, stopping=stopping), random_state=0)
    summary = model.fit(*_table()).training_summary_
    assert (summary["steps"], summary["best_step"], summary["held_out_rows"]) == (20, 10, 40)
    assert summary["stopped"] == "the bound no longer grew"
    assert bound is not loop.Loop.bound


@pytest.mark.parametrize("optimizer", [NaturalGradients(), Adam()])
def test_training_raises_the_bound(optimizer: Adam | NaturalGradients) -> None:
    X, y = _table()
    ends = [
        GPClassifier(inducing_points=10, training=Training(steps=steps, optimizer=optimizer), random_state=0)
        .fit(X, y)
        .training_summary_["elbo_per_row"]
        for steps in (1, 40)
    ]
    assert ends[1] > ends[0] + 0.05


def test_progress_is_silent_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    GPClassifier(inducing_points=5, random_state=0, training=Training(steps=20)).fit(*_table())
    assert capfd.readouterr() == ("", "")


BAR = """
import time
from gplens.estimators.training.monitor import StepBar
with StepBar(100, 0, True) as bar:
    for _ in range(30):
        time.sleep(0.05)
        bar.advance(-1.2345)
"""


@pytest.mark.slow
def test_a_terminal_shows_rate_bound_and_time_left() -> None:
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))  # not on Windows
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 120, 0, 0))
    child = subprocess.Popen([sys.executable, "-c", BAR], stderr=theirs)
    os.close(theirs)  # so that reading ends when the child does
    child.wait(timeout=60)
    text = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "ELBO -1.2345 per row" in text
    assert "step/s" in text
    assert "<" in text  # elapsed < left
