"""What gplens owes to every host library: a list of fitted models goes in, and each is held to the same contract.

A new host makes a list of `HostCase` and calls the functions below in a parametrised test, as
docs/project/new-host.md shows.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import gplens
from oracles.difference_path import integrated_gradients

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A user's model, and inputs to explain."""

    model: Any
    X: Array
    baseline: Array
    likelihood: Any = None


@dataclass(frozen=True)
class HostCase:
    """One fitted model of a host."""

    name: str
    fit: Callable[[], Fitted]
    """Deterministic: the same numbers every time."""
    predicted: Callable[[Fitted, Array], Array]
    """What the host itself predicts for inputs: (b,), or (b, c) with a column for each output that gplens has."""
    state: Callable[[Fitted], Any] = lambda subject: pickle.dumps(subject.model)
    """Everything about the model that a call could change, comparable by ==."""
    error_bars: bool = True
    """Whether attributions of this target have a posterior distribution."""
    panels: int = 8
    """Of the oracle's path: more for kernels with kinks."""

    def __repr__(self) -> str:
        return self.name


@cache
def fitted(case: HostCase) -> Fitted:
    return case.fit()


@cache
def explained(case: HostCase) -> gplens.Explanation:
    subject = fitted(case)
    return gplens.explain(
        subject.model, subject.X, baseline=subject.baseline, likelihood=subject.likelihood, tolerance=1e-9
    )


def check_values(case: HostCase) -> None:
    """Equal to central differences of the host's own prediction along the path, to 1e-6 of the largest."""
    subject, e = fitted(case), explained(case)
    step = 1e-3 * np.maximum(np.abs(subject.X - subject.baseline).max(0), 1e-3)
    oracle = integrated_gradients(
        lambda X: case.predicted(subject, X), subject.X, subject.baseline, step, panels=case.panels
    )
    assert e.converged is not None
    assert e.converged.all()
    assert np.abs(e.values.numpy() - oracle).max() <= 1e-6 * np.abs(oracle).max()


def check_completeness(case: HostCase) -> None:
    """Attributions add up to the change of what the host predicts, to 1e-8 of the size of the predictions."""
    subject, e = fitted(case), explained(case)
    end, origin = (case.predicted(subject, X) for X in (subject.X, subject.baseline[None]))
    size = 1 + np.abs(end).max()
    assert e.prediction.shape == end.shape, (
        f"{case}: expected predicted() of shape {tuple(e.prediction.shape)}, like e.prediction, got {end.shape}"
    )
    assert np.abs(e.prediction.numpy() - end).max() <= 1e-8 * size
    assert np.abs(e.values.sum(-1).numpy() - (end - origin)).max() <= 1e-8 * size


def check_untouched(case: HostCase) -> None:
    """Bit for bit the model that it was, and the same result for a model that was never explained before."""
    subject = case.fit()
    before = case.state(subject)
    e = gplens.explain(
        subject.model, subject.X, baseline=subject.baseline, likelihood=subject.likelihood, tolerance=1e-9
    )
    assert case.state(subject) == before
    assert torch.equal(e.values, explained(case).values)


def check_error_bars(case: HostCase) -> None:
    """Finite and not all zero, or refused with the reason."""
    subject = fitted(case)
    ask = partial(
        gplens.explain, subject.model, subject.X[:1], baseline=subject.baseline, likelihood=subject.likelihood
    )
    if not case.error_bars:
        with pytest.raises(ValueError, match="uncertainty"):
            ask(uncertainty=gplens.Diagonal())
        return
    e = ask(uncertainty=gplens.Diagonal(), tolerance=1e-4)
    assert e.std is not None
    assert e.std.isfinite().all()
    assert e.std.max() > 0


def check_reading(case: HostCase) -> None:
    """Read once and explained from the Reading: the same attributions, compared with the live model again."""
    subject, e = fitted(case), explained(case)
    reading = gplens.read(subject.model, subject.likelihood, points=subject.X)
    again = gplens.explain(reading, subject.X, baseline=subject.baseline, tolerance=1e-9)
    assert (again.values - e.values).abs().max() <= 1e-9 * e.values.abs().max()
    assert len(again.provenance.notes) == len(e.provenance.notes)


EVERY_CHECK = [check_values, check_completeness, check_untouched, check_error_bars, check_reading]
