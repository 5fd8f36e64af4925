"""The options of a batch explanation: plain values that can be pickled, compared and written into a manifest."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, final

import pyarrow

from gplens.baselines import Zeros
from gplens.targets import EpistemicVariance, Exceeds, Latent, PredictiveVariance, Response, Target

BASELINES: dict[str, Callable[[Any], Any]] = {
    "mean": lambda model: model.mean_input_,
    "zeros": lambda model: Zeros(),
    "background": lambda model: model.default_baseline,
}
"""Baselines by name, as functions of the estimator. `background` is the average over the estimator's kept rows."""
TARGETS: dict[str, Callable[[], Target]] = {
    "response": Response,
    "latent": Latent,
    "epistemic": EpistemicVariance,
    "predictive": PredictiveVariance,
}
"""Targets by name, in addition to `exceeds:THRESHOLD`."""


@final
@dataclass(frozen=True)
class Options:
    """The options of a batch explanation.

    Raises:
        ValueError: if a text is not the name of a baseline or of a target.

    Example:
        >>> options = gplens.batch.Options(baseline="mean", uncertainty=True, keep=("id",))
        >>> options.target
        'response'
    """

    baseline: str | Mapping[str, Any] = "mean"
    """A name in BASELINES, or a row of the table, with an entry for each column of the model."""
    target: str = "response"
    """A name in TARGETS, or exceeds:THRESHOLD."""
    outputs: tuple[str, ...] | None = None
    """Names of the outputs to explain, for a model with several; None for all of them."""
    uncertainty: bool = False
    """Whether the standard deviation of every attribution is computed."""
    tolerance: float | None = None
    """The tolerance of `gplens.explain`."""
    keep: tuple[str, ...] = ()
    """Columns of the input that are copied to the output, such as a key."""

    def __post_init__(self) -> None:
        if isinstance(self.baseline, str) and self.baseline not in BASELINES:
            raise ValueError(f"expected a baseline of {list(BASELINES)} or row:NUMBER, got {self.baseline!r}.")
        target_of(self.target)

    def settings(self) -> dict[str, Any]:
        """The options as JSON has them."""
        return json.loads(json.dumps(asdict(self), default=str))


def target_of(name: str) -> Target:
    """The target of a name."""
    if name in TARGETS:
        return TARGETS[name]()
    kind, _, threshold = name.partition(":")
    number = _number(threshold) if kind == "exceeds" else None
    if number is None:
        raise ValueError(
            f"expected a target of {list(TARGETS)} or exceeds:THRESHOLD, such as exceeds:200, got {name!r}."
        )
    return Exceeds(number)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def baseline_of(baseline: str | Mapping[str, Any], model: Any) -> Any:
    """The baseline of a name or a row, as `explain` takes it."""
    if isinstance(baseline, str):
        return BASELINES[baseline](model)
    names = feature_names(model)
    if missing := [name for name in names if name not in baseline]:
        raise ValueError(f"expected a baseline with the columns {list(names)}, got one without {missing}.")
    return pyarrow.Table.from_pylist([{name: baseline[name] for name in names}])


def feature_names(model: Any) -> tuple[str, ...]:
    """The columns that an estimator was fitted to; x0, x1, ... if they had no names."""
    return model.columns_.names


def outputs_of(outputs: tuple[str, ...] | None, model: Any) -> list[str] | None:
    """Names of outputs as an estimator has them: a class of numbers may be written 3 for "class 3"."""
    if outputs is None:
        return None
    classes = model.class_names or ()
    return [f"class {name}" if name not in classes and f"class {name}" in classes else name for name in outputs]
