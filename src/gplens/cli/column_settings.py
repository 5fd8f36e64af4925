"""Kinds of columns as they are typed: hour=cyclic:24, price=log, zip=category."""

from collections.abc import Callable, Sequence

from gplens.columns import Boolean, Category, Cyclic, DateTime, Drop, Kind, Log, Number, Time

KINDS: dict[str, Callable[[], Kind]] = {
    "number": Number,
    "log": Log,
    "boolean": Boolean,
    "category": Category,
    "datetime": DateTime,
    "time": Time,
    "drop": Drop,
}
WITH_NUMBER: dict[str, Callable[[float], Kind]] = {"cyclic": Cyclic, "log": lambda plus: Log(plus=plus)}
"""Kinds that take a number: cyclic:PERIOD, log:PLUS."""


def columns_of(settings: Sequence[str], names: Sequence[str]) -> dict[str, Kind]:
    """Kinds by column, from settings such as hour=cyclic:24, of a table with these columns.

    Raises:
        ValueError: a column that does not exist, or a kind that is not known.
    """
    columns: dict[str, Kind] = {}
    for setting in settings:
        name, found, kind = setting.rpartition("=")
        if not found or name not in names:
            raise ValueError(f"expected COLUMN=KIND with a column of {list(names)}, got {setting!r}.")
        columns[name] = _kind(kind)
    return columns


def _kind(text: str) -> Kind:
    name, found, number = text.partition(":")
    if not found and name in KINDS:
        return KINDS[name]()
    try:
        if name in WITH_NUMBER and found:
            return WITH_NUMBER[name](float(number))
    except ValueError as cause:
        raise ValueError(f"expected a number after {name}:, got {text!r} ({cause}).") from cause
    raise ValueError(f"expected a kind of {[*KINDS, 'cyclic:PERIOD', 'log:PLUS']}, got {text!r}.")
