"""Columns of a training table that say nothing, or are hardly what they are taken for: refused or warned of."""

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
"""A column of texts with more categories than this, and than half of the rows, is taken for names or free text."""
SEVERAL = 20
"""A column of texts with more categories than this, most of which are numbers, is warned of."""
FEWEST = 20
"""Tables with fewer rows are not looked at for row numbers."""
AMOUNT = re.compile(r"[-+]?[$€£]? ?[-+]?\d[\d,. ]*([eE][-+]?\d+)? ?[%$€£]?", re.ASCII)
"""Texts that are numbers, with separators, currencies or per cent."""
ROW_NUMBER = re.compile(r"(.*[_ .-])?id|.*[a-z]Id|[A-Z]*I[dD]|index|row|Unnamed: \d+", re.ASCII)
"""Names of columns that number the rows, such as id, user_id, userId, PID, and those that pandas writes."""


def check_texts(columns: Sequence[Entries]) -> None:
    """Refuse texts that cannot be categories, all columns at once, and warn of numbers that are texts."""
    names = [entries for entries in columns if _free(entries)]
    if names:
        found = "; ".join(_found(entries) for entries in names)
        left_out = ", ".join(f"{entries.name!r}: Drop()" for entries in names)
        raise ValueError(
            f"expected categories in {_listed(names)}, got {found}: names or free text say nothing about other rows. "
            f"Convert what are dates or numbers, leave out the rest with columns={{{left_out}}} (gplens fit: --drop), "
            "or insist with Category()."
        )
    mixed = [entries for entries in columns if _mostly_numbers(entries)]
    for entries in mixed:
        other = next(text for text in entries.values if text is not None and not AMOUNT.fullmatch(text))
        warnings.warn(
            f"column {entries.name!r} is taken for {len(_different(entries))} categories, although most of its texts "
            f"are numbers; {other!r} is none. If it stands for a missing entry, say so when the table is read, with "
            f"pandas by na_values=[{other!r}].",
            stacklevel=5,
        )


def _different(entries: Entries) -> set[str]:
    return set(entries.values) - {None}


def _free(entries: Entries) -> bool:
    count = len(_different(entries))
    return count > MANY and 2 * count > len(entries.values)


def _mostly_numbers(entries: Entries) -> bool:
    texts = _different(entries)
    return len(texts) > SEVERAL and len(texts) / 2 < sum(AMOUNT.fullmatch(text) is not None for text in texts) < len(
        texts
    )


def _found(entries: Entries) -> str:
    """What is in a column of texts, and how to convert it if they are numbers."""
    texts, first = _different(entries), entries.shown(int((~entries.missing).argmax()))
    found = f"{len(texts)} different texts in {len(entries.values)} rows, such as {first!r}"
    return f"{found} (numbers as texts)" if all(AMOUNT.fullmatch(text) for text in texts) else found


def _listed(columns: Sequence[Entries]) -> str:
    return f"column{'' if len(columns) == 1 else 's'} {', '.join(repr(entries.name) for entries in columns)}"


def warn_of_columns(plan: ColumnPlan, raw: RawTable) -> None:
    """Say which named columns have one value, or none, and which ones number the rows."""
    if raw.names is None:
        return
    pairs = list(zip(raw.columns, plan.columns, strict=True))
    used = [
        entries for entries, column in pairs if not (isinstance(column, DroppedColumn) and column.reason == "left out")
    ]
    constant = [entries.name for entries in used if _is_constant(entries)]
    if constant:
        warnings.warn(
            f"{len(constant)} of {len(raw.columns)} columns have one value in all {raw.rows} rows and say nothing: "
            f"{', '.join(map(repr, constant))}.",
            stacklevel=4,
        )
    numbered = [entries for entries, column in pairs if _is_number(column) and _numbers_the_rows(entries)]
    if numbered:
        left_out = ", ".join(f"{entries.name!r}: Drop()" for entries in numbered)
        warnings.warn(
            f"{_listed(numbered)}: another whole number in each of the {raw.rows} rows, used as a number. If it only "
            f"names the rows, leave it out with columns={{{left_out}}}.",
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
