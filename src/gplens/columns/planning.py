"""From a training table and a user's wishes to a plan, and plans as JSON."""

import warnings
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gplens.adapters.encoders import RawTable
from gplens.adapters.entries import Entries
from gplens.adapters.numbers import as_int
from gplens.columns.calendar import DateTime
from gplens.columns.category import Category, CategoryColumn, Drop, DroppedColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.cyclic import Cyclic, Time
from gplens.columns.kind import Column, Kind
from gplens.columns.number import Boolean, Log, Number
from gplens.columns.scalar import ScalarColumn

EVERY_KIND: tuple[type[Kind], ...] = (Number, Log, Boolean, Category, Cyclic, DateTime, Time, Drop)
KINDS = {kind.__name__: kind for kind in EVERY_KIND}
COLUMNS: dict[str, type[Column]] = {kind.__name__: kind for kind in (ScalarColumn, CategoryColumn, DroppedColumn)}

DEFAULTS: dict[str, Kind] = {
    "number": Number(),
    "duration": Number(),
    "boolean": Boolean(),
    "text": Category(),
    "datetime": DateTime(),
    "date": DateTime(),
    "time": Time(),
}
"""The kind of a column by what its entries are."""
MANY = 50
"""A column of texts with more categories than this, and than half of the rows, is taken for names or free text."""


def plan_columns(raw: RawTable, columns: Any) -> ColumnPlan:
    """The plan for a training table: the kinds that the user chose in `columns=`, and the defaults for the rest.

    Raises:
        ValueError, TypeError: a choice for a column that does not exist or cannot be of that kind, or a column that
            has no default.
    """
    chosen = _chosen(raw, columns)
    plan = ColumnPlan(tuple(_fitted(entries, chosen.get(entries.name)) for entries in raw.columns), bool(raw.names))
    if not plan.inputs:
        raise ValueError(f"expected at least one column that says something, got {raw.rows} rows with {plan!r}")
    return plan


def _fitted(entries: Entries, kind: Kind | None) -> Column:
    if kind is None or not isinstance(kind, Drop):
        if bool(entries.missing.all()):
            return DroppedColumn(entries.name, "no entries")
        if (kind is None or isinstance(kind, DateTime)) and (dates := entries.dates()) is not None:
            entries = dates
        if kind is None and entries.family == "text":
            _check_categories(entries)
    return (kind or DEFAULTS[entries.family]).fit(entries)


def _check_categories(entries: Entries) -> None:
    count, rows = len(set(entries.values) - {None}), len(entries.values)
    if count > MANY and 2 * count > rows:
        raise ValueError(
            f"expected categories in column {entries.name!r}, got {count} different texts in {rows} rows, the first "
            f"{entries.shown(0)!r}: names or free text say nothing about other rows. Leave the column out with "
            f"columns={{{entries.name!r}: Drop()}}, or insist with Category()."
        )


def _chosen(raw: RawTable, columns: Any) -> dict[str, Kind]:
    """The kinds that the user chose, by the names of the columns."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        raise TypeError(f'expected columns={{"hour": gplens.columns.Cyclic(24)}} or None, got columns={columns!r}.')
    names, chosen = [entries.name for entries in raw.columns], {}
    for key, kind in columns.items():
        position = as_int(key)
        unnamed = position is not None and 0 <= position < len(names) and raw.names is None
        name = names[position] if unnamed and position is not None else str(key)
        if name not in names:
            raise ValueError(f"expected columns= for columns of {names}, got one for {key!r}.")
        if not isinstance(kind, Kind):
            hint = f"write {kind.__name__}()" if isinstance(kind, type) and issubclass(kind, Kind) else "create one"
            raise TypeError(f"expected a kind of gplens.columns for column {key!r}, got {kind!r}; {hint}.")
        chosen[name] = kind
    return chosen


def warn_of_constants(plan: ColumnPlan, raw: RawTable) -> None:
    """Say which named columns have one value, or none, and so say nothing."""
    if raw.names is None:
        return
    constant = [
        entries.name
        for entries, column in zip(raw.columns, plan.columns, strict=True)
        if not (isinstance(column, DroppedColumn) and column.reason == "left out") and _is_constant(entries)
    ]
    if constant:
        warnings.warn(
            f"{len(constant)} of {len(raw.columns)} columns have one value in all {raw.rows} rows and say nothing: "
            f"{', '.join(map(repr, constant))}.",
            stacklevel=4,
        )


def _is_constant(entries: Entries) -> bool:
    present = entries.values[~entries.missing]
    return len(present) == 0 or (len(present) == len(entries.values) and bool(np.all(present == present[0])))


def to_json(thing: Any) -> Any:
    """A plan, column or kind as JSON, with the names of classes."""
    if is_dataclass(thing) and not isinstance(thing, type):
        return {"type": type(thing).__name__, **{f.name: to_json(getattr(thing, f.name)) for f in fields(thing)}}
    return [to_json(part) for part in thing] if isinstance(thing, tuple | list) else thing


def from_json(content: Any) -> Any:
    """The inverse of `to_json`."""
    if isinstance(content, dict):
        parts = {key: from_json(part) for key, part in content.items() if key != "type"}
        return {**KINDS, **COLUMNS, "ColumnPlan": ColumnPlan}[content["type"]](**parts)
    return tuple(from_json(part) for part in content) if isinstance(content, list) else content
