"""The marks of a plot: the attributions of one output, their intervals, and sums of the remaining features."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.display.wording import baseline_text, others_label, target_text

Array = NDArray[np.float64]


@runtime_checkable
class Attributions(Protocol):
    """The attributes of an explanation that plots read. `gplens.Explanation` has them."""

    @property
    def values(self) -> Tensor: ...
    @property
    def prediction(self) -> Tensor: ...
    @property
    def baseline_prediction(self) -> Tensor: ...
    @property
    def inputs(self) -> Tensor: ...
    @property
    def baseline(self) -> Tensor: ...
    @property
    def labels(self) -> Any: ...
    @property
    def background(self) -> bool: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def output_names(self) -> tuple[str, ...] | None: ...
    @property
    def provenance(self) -> Any: ...
    @property
    def spread(self) -> Any: ...
    @property
    def support(self) -> Any: ...
    @property
    def channels(self) -> Any: ...
    @property
    def baseline_weights(self) -> Tensor | None: ...


@final
@dataclass(frozen=True, eq=False)
class Marks:
    """Attributions of some inputs and one output: a row for each input, a column for each feature that is drawn."""

    names: tuple[str, ...]
    """Names of the columns; the last one is the sum of the remaining features, if there are any."""
    columns: tuple[list[int], ...]
    """The features of each column."""
    values: Array
    std: Array | None
    """The lower end of each interval; NaN if unknown, as for a sum of features without covariances."""
    low: Array | None
    high: Array | None
    interval: str
    """The meaning of `low` and `high`: "90 % intervals", "± 1 sd", or "" if they are unknown."""
    remedy: str = "whose covariances uncertainty=gplens.Full() computes"
    """A hint on how to get the spread of the sum of the remaining features."""

    @property
    def others(self) -> int:
        """The number of features whose sum is the last column; zero if every feature has a column."""
        return len(self.columns[-1]) if len(self.columns[-1]) > 1 else 0

    @property
    def caption(self) -> str:
        """The meaning of the whiskers, for a subtitle."""
        unknown = self.std is not None and bool(np.isnan(self.std).any())
        missing = f"; none for the sum of others, {self.remedy}"
        return f"whiskers: {self.interval}{missing if unknown else ''}" if self.interval else "without error bars"

    def deviation(self, row: int, column: int) -> float | None:
        """The standard deviation of a mark, if it is known."""
        return None if self.std is None else float(self.std[row, column])


def check_level(level: Any) -> float:
    """The probability of an interval."""
    probability = level.item() if isinstance(level, np.generic) else level
    if not isinstance(probability, float) or not 0 < probability < 1:
        raise ValueError(f"expected a level between 0 and 1, such as 0.9, got {level!r}.")
    return probability


def _whole(value: Any) -> int | None:
    """A whole number of Python, numpy or torch; None for anything else, including True and 1.0."""
    plain = value.item() if isinstance(value, np.generic | Tensor) and value.ndim == 0 else value
    return plain if isinstance(plain, int) and not isinstance(plain, bool) else None


def row_of(e: Attributions, row: Any) -> int:
    """The position of an input; a negative number counts from the end."""
    number, count = _whole(row), len(e.values)
    if number is None or not -count <= number < count:
        raise IndexError(f"expected a row from {-count} to {count - 1}, since there are {count} inputs, got {row!r}.")
    return number % count


def output_of(e: Attributions, output: Any, row: int | None = None) -> int | None:
    """The position of an output given by index or name; if None, of the output with the largest value of an input.

    None for an explanation of a single output, which has no axis of outputs.
    """
    names = e.output_names
    if names is None:
        if output is not None:
            raise ValueError(f"expected no output=, since the explanation has a single output, got {output!r}.")
        return None
    if output is None and len(names) == 1:
        return 0
    if output is None and row is not None:
        return int(e.prediction[row].argmax())
    position = names.index(output) if isinstance(output, str) and output in names else _whole(output)
    if position is None or not 0 <= position < len(names):
        raise ValueError(f"expected output= to be a number below {len(names)} or one of {list(names)}, got {output!r}.")
    return position


def of_output(tensor: Tensor, j: int | None, axis: int = 1) -> Tensor:
    """The part of one output; all of it if there is no axis of outputs."""
    return tensor if j is None else tensor.select(axis, j)


def output_name(e: Attributions, j: int | None) -> str | None:
    """The name of an output, if the explanation has several."""
    return None if j is None or e.output_names is None else e.output_names[j]


def by_size(values: Float[Tensor, "b d"]) -> list[int]:
    """Features by their mean |attribution|; ties keep their order."""
    return values.abs().mean(0).argsort(descending=True, stable=True).tolist()


def split(order: list[int], top: Any) -> tuple[list[int], ...]:
    """A column for each of the first features, and one for all others, unless that would be a single feature."""
    count = _whole(top)
    if count is None or count < 1:
        raise ValueError(f"expected top to be a whole number of 1 or more, got {top!r}.")
    if len(order) <= count + 1:
        return tuple([k] for k in order)
    return (*([k] for k in order[:count]), sorted(order[count:]))


def marks(
    e: Attributions, j: int | None, rows: slice | list[int], columns: tuple[list[int], ...], level: float
) -> Marks:
    """The marks of some inputs, in columns of one or more features, with intervals where they are known."""
    values = torch.stack([of_output(e.values, j)[rows][:, group].sum(1) for group in columns], dim=1)
    names = tuple(e.feature_names[group[0]] if len(group) == 1 else others_label(len(group)) for group in columns)
    spread = None if e.spread is None else _of_rows_and_output(e.spread, j, rows)
    if spread is None or spread.std is None:
        return Marks(names, columns, values.numpy(), None, None, None, "")
    joint = spread.covariance is not None or (spread.draws is not None and spread.joint_draws)
    kept = [i for i, group in enumerate(columns) if joint or len(group) == 1]
    grouped = spread.group([columns[i] for i in kept])
    if grouped.has_interval:
        low, high = grouped.interval(values[:, kept], level)
        interval = f"{100 * level:g} % intervals"
    else:
        low, high, interval = values[:, kept] - grouped.std, values[:, kept] + grouped.std, "± 1 sd"
    std, low, high = (_with_gaps(part, kept, len(columns)) for part in (grouped.std, low, high))
    return Marks(names, columns, values.numpy(), std, low, high, interval)


def _of_rows_and_output(spread: Any, j: int | None, rows: slice | list[int]) -> Any:
    """The spread of some inputs and one output."""
    spread = spread.rows(rows)
    axes = {name: 2 if name == "draws" else 1 for name in spread.tensors() if name != "converged"}
    return replace(spread, **{name: of_output(spread.tensors()[name], j, axis) for name, axis in axes.items()})


def _with_gaps(part: Float[Tensor, "b k"], kept: list[int], count: int) -> Array:
    """Known columns in their places, NaN in the others."""
    whole = np.full((len(part), count), np.nan)
    whole[:, kept] = part.numpy()
    return whole


def titles(e: Attributions, j: int | None, row: int | None, caption: str) -> tuple[str, str]:
    """A title that names what was explained, and a subtitle that names the baseline."""
    where = "" if row is None or len(e.values) == 1 else f", input {row} of {len(e.values):,}"
    relative = f"relative to {baseline_text(e.provenance.baseline)}"
    return target_text(e.provenance, output_name(e, j)) + where, f"{relative}; {caption}" if caption else relative
