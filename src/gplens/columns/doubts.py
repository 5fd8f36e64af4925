"""Errors and warnings for columns of a training table that carry no information or were probably misread."""

import re
import warnings
from collections.abc import Sequence

import numpy as np

from gplens.adapters.encoders import RawTable
from gplens.adapters.entries import Entries
from gplens.columns.category import DroppedColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.kind import Column
from gplens.columns.number import Number
from gplens.columns.scalar import ScalarColumn

MANY = 50
"""Texts with more categories than this, and more than half as many as rows, are read as names or free text."""
SEVERAL = 20
"""A column of texts with more categories than this raises a warning if most of them are numbers."""
FEWEST = 20
"""The smallest number of rows at which row numbers are looked for."""
SEPARATED = re.compile(r".*[,.$€£%].*", re.DOTALL)
"""Texts that are hardly codes if they are numbers: 1,250 and $5."""
AMOUNT = re.compile(r"[-+]?[$€£]? ?[-+]?\d[\d,. ]*([eE][-+]?\d+)? ?[%$€£]?", re.ASCII)
"""Texts that are numbers, with separators, currencies or per cent."""
ROW_NUMBER = re.compile(r"(.*[_ .-])?id|.*[a-z]Id|[A-Z]*I[dD]|index|row|Unnamed: \d+", re.ASCII)
"""Names of columns that number the rows: id, user_id, userId, PID, and those that pandas writes."""


def check_texts(columns: Sequence[Entries]) -> None:
    """Refuse columns of texts that cannot be categories, all in one error, and warn of numbers written as texts."""
    names = [entries for entries in columns if _free(entries)]
    if names:
        contents = "; ".join(_contents(entries) for entries in names)
        left_out = ", ".join(f"{entries.name!r}: Drop()" for entries in names)
        raise ValueError(
            f"expected categories in {_listed(names)}, got {contents}: names and free text do not "
            "tell anything about other rows. Convert dates and numbers, leave out the rest with "
            f"columns={{{left_out}}} (gplens fit: --drop), "
            "or keep a column as categories with Category()."
        )
    for entries in columns:
        if _mostly_numbers(entries):
            count, advice = len(_different(entries)), _numbers_as_texts(entries)
            warnings.warn(f"column {entries.name!r} is read as {count} categories, although {advice}", stacklevel=5)


def _numbers_as_texts(entries: Entries) -> str:
    """Which texts of a column are numbers, and what to do."""
    other = next((text for text in entries.values if text is not None and not AMOUNT.fullmatch(text)), None)
    if other is not None:
        return (
            f"most of its texts are numbers; {other!r} is not. If it stands for a missing entry, read the table with "
            f"it as missing: in pandas, na_values=[{other!r}]."
        )
    shown = entries.shown(int((~entries.missing).argmax()))
    return (
        f"all of its texts are numbers, such as {shown!r}. If they are amounts, convert them: in pandas, "
        "read_csv(..., thousands=',') or decimal=','."
    )


def _different(entries: Entries) -> set[str]:
    return set(entries.values) - {None}


def _free(entries: Entries) -> bool:
    count = len(_different(entries))
    return count > MANY and 2 * count > len(entries.values)


def _mostly_numbers(entries: Entries) -> bool:
    """Whether most texts are numbers and one is not, or all are, with separators or units that codes do not have."""
    texts = _different(entries)
    numbers = [text for text in texts if AMOUNT.fullmatch(text)]
    if len(texts) <= SEVERAL or len(numbers) <= len(texts) / 2:
        return False
    return len(numbers) < len(texts) or any(SEPARATED.fullmatch(text) for text in texts)


def _contents(entries: Entries) -> str:
    """The number of texts of a column and an example, and whether they are numbers, or dates but for one."""
    texts, first = _different(entries), entries.shown(int((~entries.missing).argmax()))
    contents = f"{len(texts)} different texts in {len(entries.values)} rows, such as {first!r}"
    if all(AMOUNT.fullmatch(text) for text in texts):
        return f"{contents} (numbers as texts)"
    if (row := entries.unlike_most()) is not None:
        return (
            f"{contents} (most are dates or times, but {entries.shown(row)!r} in row {row} is not written as they are)"
        )
    return contents


def _listed(columns: Sequence[Entries]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(repr(entries.name) for entries in columns)}"


def warn_of_columns(plan: ColumnPlan, raw: RawTable) -> None:
    """Warn of named columns with a single value or none, and of those that number the rows."""
    if raw.names is None:
        return
    pairs = list(zip(raw.columns, plan.columns, strict=True))
    used = [
        entries for entries, column in pairs if not (isinstance(column, DroppedColumn) and column.reason == "left out")
    ]
    constant = [entries.name for entries in used if _is_constant(entries)]
    if constant:
        warnings.warn(
            f"{len(constant)} of {len(raw.columns)} columns have one value in all {raw.rows} rows, from "
            f"which no model learns: {', '.join(map(repr, constant))}.",
            stacklevel=4,
        )
    numbered = [entries for entries, column in pairs if _is_number(column) and _numbers_the_rows(entries)]
    if numbered:
        left_out = ", ".join(f"{entries.name!r}: Drop()" for entries in numbered)
        warnings.warn(
            f"{_listed(numbered)}: a different whole number in each of the {raw.rows} rows, read as a number. If "
            f"it only identifies the rows, leave it out with columns={{{left_out}}}.",
            stacklevel=4,
        )


def _is_number(column: Column) -> bool:
    return isinstance(column, ScalarColumn) and isinstance(column.kind, Number)


def _is_constant(entries: Entries) -> bool:
    present = entries.values[~entries.missing]
    return len(present) == 0 or (len(present) == len(entries.values) and bool(np.all(present == present[0])))


def _numbers_the_rows(entries: Entries) -> bool:
    x = entries.values
    if len(x) < FEWEST or entries.family != "number" or ROW_NUMBER.fullmatch(entries.name) is None:
        return False
    return len(np.unique(x)) == len(x) and bool(np.all(x == np.round(x)))
