"""The types that the columns of a file must have for a model that was fitted to such a table."""

from collections.abc import Mapping
from typing import Any

import pyarrow
from pyarrow import types

from gplens.adapters.date_texts import OFFSETS
from gplens.adapters.entries import FAMILIES
from gplens.columns.category import CategoryColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.scalar import ScalarColumn

OF_FAMILY = {
    "number": pyarrow.float64(),
    "boolean": pyarrow.bool_(),
    "text": pyarrow.string(),
    "date": pyarrow.date32(),
    "time": pyarrow.string(),
}
"""Types of the columns of a CSV file, by the kind of entries in the training table. Datetimes are inferred; times are
read from texts, such as 7:30, which Arrow refuses."""


def types_of(plan: ColumnPlan) -> Mapping[str, Any]:
    """The types of the columns of a CSV file; those that are not named are inferred."""
    families = {column.name: "text" if _written(column) else _family(column) for column in plan.columns}
    return {name: OF_FAMILY[family] for name, family in families.items() if family in OF_FAMILY}


def check_types(plan: ColumnPlan, piece: pyarrow.Table, first: int) -> None:
    """Refuse a piece with text where the model has numbers; `first` is the number of its first row in the file."""
    for column in plan.columns:
        values = piece[column.name]
        if _family(column) in ("number", "boolean") and (
            types.is_string(values.type) or types.is_large_string(values.type)
        ):
            row = next((i for i, value in enumerate(values) if value.is_valid), None)
            if row is not None:
                raise ValueError(
                    f"expected {FAMILIES[_family(column) or 'number']} in column {column.name!r}, got text, the first "
                    f"{values[row].as_py()!r} in row {first + row} (the first row is 0); correct it."
                )


def _written(column: Any) -> bool:
    """Whether the training table had dates as texts that Arrow would not read, or on another clock."""
    return isinstance(column, ScalarColumn) and (column.layout is not None or column.zone == OFFSETS)


def _family(column: Any) -> str | None:
    """The kind of entries in the training table; None for a column that was left out."""
    return column.family if isinstance(column, ScalarColumn | CategoryColumn) else None
