"""From a training table and the kinds that a user chose to a `ColumnPlan`, and plans as JSON."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from gplens.adapters.encoders import RawTable
from gplens.adapters.entries import Entries
from gplens.adapters.numbers import as_int
from gplens.columns.calendar import DateTime
from gplens.columns.category import Category, CategoryColumn, Drop, DroppedColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.cyclic import Cyclic, Time
from gplens.columns.doubts import check_texts
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
"""The kind of a column, by the family of its entries."""


def plan_columns(raw: RawTable, columns: Any) -> ColumnPlan:
    """The plan for a training table: the kinds that the user chose in `columns=`, and the defaults for the rest.

    Raises:
        ValueError, TypeError: if a chosen column does not exist or cannot be of the chosen kind, or a column has no
            default kind.
    """
    chosen = _chosen(raw, columns)
    read = [_read(entries, chosen.get(entries.name)) for entries in raw.columns]
    check_texts([entries for entries in read if entries.family == "text" and entries.name not in chosen])
    plan = ColumnPlan(tuple(_fitted(entries, chosen.get(entries.name)) for entries in read), bool(raw.names))
    if not plan.inputs:
        raise ValueError(f"expected at least one column with an input, got {raw.rows} rows with {plan!r}")
    return plan


def _read(entries: Entries, kind: Kind | None) -> Entries:
    """Texts that are dates or times become such, unless the user chose another kind for the column."""
    return _as_dates(entries) if kind is None or isinstance(kind, DateTime | Time) else entries


def _fitted(entries: Entries, kind: Kind | None) -> Column:
    if not isinstance(kind, Drop) and bool(entries.missing.all()):
        return DroppedColumn(entries.name, "no entries")
    return (kind or DEFAULTS[entries.family]).fit(entries)


def _as_dates(entries: Entries) -> Entries:
    """Dates or times of day, if all texts are such in one layout; else the entries unchanged.

    Raises a ValueError for two layouts.
    """
    layouts = entries.layouts()
    if not layouts:
        return entries
    if len(layouts) > 1:
        name = entries.name
        raise ValueError(
            f"expected dates in column {name!r} with one possible order of day and month, got texts such as "
            f"{entries.shown(int((~entries.missing).argmax()))!r}, which can be {' or '.join(layouts)} in all "
            f"{len(entries.values)} rows; convert them, with pandas by "
            f"frame[{name!r}] = pandas.to_datetime(frame[{name!r}], dayfirst=True) or dayfirst=False."
        )
    dates = entries.dates(layouts[0])
    assert dates is not None
    return dates


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
            raise ValueError(f"expected names in columns= among {names}, got {key!r}.")
        if not isinstance(kind, Kind):
            hint = f"write {kind.__name__}()" if isinstance(kind, type) and issubclass(kind, Kind) else "create one"
            raise TypeError(f"expected a kind of gplens.columns for column {key!r}, got {kind!r}; {hint}.")
        chosen[name] = kind
    return chosen


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
