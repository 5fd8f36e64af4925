"""Columns of frames and lists of Python objects as entries, by what their types say."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gplens.adapters.entries import FAMILIES, Entries, is_missing, number_of


def of_series(series: Any, name: str) -> Entries:
    """The entries of a narwhals series."""
    import narwhals

    dtype = series.dtype
    if dtype.is_numeric():
        return Entries(name, "number", np.array(series.cast(narwhals.Float64).to_numpy(), dtype=np.float64))
    if dtype == narwhals.Datetime:
        moments = series.dt.replace_time_zone(None).dt.timestamp("us").to_list()
        return Entries(name, "datetime", _floats(moments) / 1e6, dtype.time_zone)
    if dtype == narwhals.Duration:
        return Entries(name, "duration", _floats(series.dt.total_microseconds().to_list()) / 1e6)
    absent, values = series.is_null().to_list(), series.to_list()
    values = [None if gone else value for gone, value in zip(absent, values, strict=True)]
    if dtype in (narwhals.Categorical, narwhals.Enum):
        values = [None if value is None else str(value) for value in values]  # categories may be numbers
    return of_objects(values, name, str(dtype))


def of_objects(values: Sequence[Any], name: str, kind: str = "object") -> Entries:
    """The entries of a list of Python objects, whose types say what they are.

    Raises:
        ValueError: entries of several families, or of none that is known, with the first such row.
    """
    values = [None if is_missing(value) else value for value in values]
    families = [None if value is None else _family(value) for value in values]
    present = [family for family in families if family is not None]
    family = present[0] if present else "number"
    odd = next((i for i, other in enumerate(families) if other not in (None, family) or other == ""), None)
    if odd is not None:
        what = "one kind" if family else "numbers, texts, booleans, dates or times"
        raise ValueError(
            f"expected entries of {what} in column {name!r} of type {kind}, got {type(values[odd]).__name__} "
            f"{values[odd]!r} in row {odd}{'' if not family else f' after {FAMILIES[family]}'}; convert the column, or "
            "leave it out."
        )
    if family == "text":
        return Entries(name, family, np.array([None if v is None else str(v) for v in values], dtype=object))
    zones = {v.tzinfo and str(v.tzinfo) for v in values if isinstance(v, datetime)}
    if len(zones) > 1:
        listed = sorted(zone or "no time zone" for zone in zones)
        raise ValueError(f"expected one time zone in column {name!r}, got {listed}; convert the column to one of them.")
    zone = zones.pop() if zones else None
    return Entries(name, family, np.array(_numbers(values, name), dtype=np.float64), zone)


def _numbers(values: Sequence[Any], name: str) -> list[float]:
    numbers = list[float]()
    for row, value in enumerate(values):
        try:
            numbers.append(number_of(value))
        except OverflowError:
            raise ValueError(
                f"expected numbers of at most 1.8e308 in column {name!r}, got a whole number of "
                f"{int(value).bit_length()} bits in row {row}; convert the column, or leave it out."
            ) from None
    return numbers


def _floats(values: Iterable[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64)


def _family(value: Any) -> str:
    """The family of a Python object; empty for one that is not known."""
    kinds: list[tuple[str, Any]] = [("boolean", bool | np.bool_), ("text", str), ("datetime", datetime), ("date", date)]
    kinds += [("time", time), ("duration", timedelta), ("number", Real | Decimal)]
    return next((family for family, kind in kinds if isinstance(value, kind)), "")
