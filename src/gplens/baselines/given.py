"""From a user's argument to a Baseline, or to an error with the line to type instead."""

from typing import Any

from gplens.adapters.encoders import Encoder
from gplens.adapters.numbers import as_float
from gplens.baselines.baseline import Baseline
from gplens.baselines.fixed import Fixed, row_inputs

MISSING = (
    "expected a baseline, got None. Attributions are relative to it, and no choice is right for everybody. Write "
    "baseline=gplens.baselines.Sample(X_train) for the average over a background, gplens.baselines.Mean(X_train) for "
    "the average input, gplens.baselines.Medoid(X_train) for a typical row, gplens.baselines.Zeros() for an empty "
    "image, gplens.baselines.Rows(X0) for one row per input, or pass a vector."
)
EXAMPLES = {
    "zeros": "Zeros()",
    "zero": "Zeros()",
    "mean": "Mean(X_train)",
    "average": "Mean(X_train)",
    "medoid": "Medoid(X_train)",
    "median": "Medoid(X_train)",
    "sample": "Sample(X_train)",
    "background": "Sample(X_train)",
    "rows": "Rows(X0)",
    "nearest": "Nearest(X_train, y_train, where=...)",
    "incumbent": "Incumbent(X_train, y_train)",
    "best": "Incumbent(X_train, y_train)",
    "fixed": "Fixed(x0)",
}
"""What to type in place of words and class names that people pass as a baseline."""


def as_baseline(baseline: Any, encoder: Encoder | None = None) -> Baseline:
    """The Baseline for a user's argument, in the inputs of the model if it has an encoder.

    Raises:
        ValueError: for None, a text, a class, and a table of several rows, with the line to type instead.

    Args:
        baseline: a number, a row, or a Baseline.
        encoder: the encoder of the model, if it has one.

    Returns:
        A Baseline.

    Example:
        >>> gplens.baselines.as_baseline(0.0)
        Fixed(0)
    """
    if baseline is None:
        raise ValueError(MISSING)
    if isinstance(baseline, str) or (isinstance(baseline, type) and issubclass(baseline, Baseline)):
        raise ValueError(_in_place_of(baseline))
    if encoder is None:
        return baseline if isinstance(baseline, Baseline) else Fixed(baseline)
    if isinstance(baseline, Baseline):
        return baseline.encoded(encoder)
    return Fixed(baseline).encoded(encoder) if as_float(baseline) is not None else row_inputs(baseline, encoder)


def _in_place_of(baseline: str | type[Baseline]) -> str:
    """The error for a word or a class, with the line to type instead."""
    name, kind = (baseline, "text") if isinstance(baseline, str) else (baseline.__name__, "class")
    example = EXAMPLES.get(name.lower(), "Mean(X_train), gplens.baselines.Sample(X_train) or gplens.baselines.Zeros()")
    return f"expected a baseline object or a row, got the {kind} {name!r}. Write baseline=gplens.baselines.{example}."


def check_keyword(positional: tuple[Any, ...]) -> None:
    """Refuse positional arguments of `explain` after X, with the line to type instead.

    Raises:
        TypeError: if there are any.
    """
    if positional:
        line = f"baseline={positional[0]!r}" if isinstance(positional[0], Baseline) else "baseline=..."
        raise TypeError(
            f"expected the model and X, and all else by name, got {len(positional)} more without a name. Write "
            f"explain(..., X, {line}); gplens.baselines.Sample(X0) is a background of rows."
        )
