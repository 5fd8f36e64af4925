"""Texts that are dates or times of day, as people write them into CSV files: the layout of a column, and what its texts
stand for."""

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<part>\d{1,9}))?)?"
HALF = r" ?(?P<half>[AaPp][Mm])"
TIME = rf"(?:(?:T|,? ){CLOCK}(?:{HALF})?(?P<offset> ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
"""A time of day after a date, with or without AM or PM and the offset from UTC."""
YEAR, MONTH, DAY = r"(?P<year>\d{4})", r"(?P<month>\d\d?)", r"(?P<day>\d\d?)"
NAMED = rf"(?P<name>(?i:{'|'.join(MONTHS)}))[A-Za-z]*\.?"
ISO, DAY_FIRST, MONTH_FIRST = "2019-12-31", "31/12/2019", "12/31/2019"
TIMES = {"23:59": CLOCK, "11:59 PM": CLOCK + HALF}
"""Times of day alone, by one that is written so; seconds and their fractions may follow the minutes."""
LAYOUTS = {
    layout: re.compile(pattern, re.ASCII)
    for layout, pattern in {
        ISO: rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){TIME}",
        "2019/12/31": f"{YEAR}/{MONTH}/{DAY}{TIME}",
        "31.12.2019": rf"{DAY}\.{MONTH}\.{YEAR}{TIME}",
        DAY_FIRST: f"{DAY}/{MONTH}/{YEAR}{TIME}",
        MONTH_FIRST: f"{MONTH}/{DAY}/{YEAR}{TIME}",
        "31 Dec 2019": rf"{DAY}[ -]{NAMED}[ -]{YEAR}{TIME}",
        "Dec 31, 2019": rf"{NAMED} {DAY},? {YEAR}{TIME}",
        **TIMES,
    }.items()
}
"""By a date or a time of day that is written so."""
UTC, OFFSETS = "UTC", "of the offsets in the texts"
"""Time zones of texts with Z, and with offsets such as +01:00, whose clock is the one that is written."""


def layouts_of(texts: Iterable[str]) -> list[str]:
    """The layouts that all texts have, with days and hours that exist. 01/02/2019 alone has two of them."""
    left = dict(LAYOUTS)
    for text in texts:
        left = {layout: pattern for layout, pattern in left.items() if _moment(pattern, text) is not None}
        if not left:
            break
    return list(left)


def moments_of(texts: list[str | None], layout: str) -> list[datetime | None] | None:
    """The clock time of every text in a layout, that of a time of day on 1970-01-01, and None for a missing one.

    None if one of the texts has another layout.
    """
    moments = [None if text is None else _moment(LAYOUTS[layout], text) for text in texts]
    broken = any(moment is None and text is not None for moment, text in zip(moments, texts, strict=True))
    return None if broken else moments


def usual_layout(texts: Sequence[str]) -> str | None:
    """The layout that most of the texts have; None if none is that of more than half of them."""
    counts = {layout: sum(_moment(pattern, text) is not None for text in texts) for layout, pattern in LAYOUTS.items()}
    layout = max(counts, key=counts.__getitem__)
    return layout if 2 * counts[layout] > len(texts) else None


def first_other(texts: list[str | None], layout: str) -> int | None:
    """The place of the first text that has another layout."""
    odd = (i for i, text in enumerate(texts) if text is not None and _moment(LAYOUTS[layout], text) is None)
    return next(odd, None)


def zone_of(texts: Iterable[str], layout: str) -> str | None:
    """The time zone that the texts name; None if none of them does."""
    if layout in TIMES:
        return None
    offsets = {match["offset"] for text in texts if (match := LAYOUTS[layout].fullmatch(text)) is not None}
    if offsets == {None}:
        return None
    return UTC if {str(offset).strip() for offset in offsets} <= {"Z", "UTC"} else OFFSETS


def family_of(texts: Iterable[str], layout: str) -> str:
    """What texts of a layout are: "time"; "date" if no text has a time of day; else "datetime"."""
    if layout in TIMES:
        return "time"
    matches = (LAYOUTS[layout].fullmatch(text) for text in texts)
    return "date" if all(match is not None and match["hour"] is None for match in matches) else "datetime"


def _moment(pattern: re.Pattern[str], text: str) -> datetime | None:
    """The clock time that a text stands for; None if it does not have the layout, or there is no such day."""
    if (match := pattern.fullmatch(text)) is None:
        return None
    parts = match.groupdict()
    month = MONTHS.index(parts["name"].lower()) + 1 if "name" in parts else int(parts.get("month", 1))
    hour, half = int(parts["hour"] or 0), (parts.get("half") or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        begin = datetime(int(parts.get("year", 1970)), month, int(parts.get("day", 1)), hour, int(parts["minute"] or 0))
        seconds = int(parts["second"] or 0)
        return None if seconds > 59 else begin + timedelta(seconds=seconds, microseconds=_micro(parts["part"]))
    except ValueError:  # the 31st of February, or 24:00
        return None


def _micro(digits: str | None) -> int:
    """Microseconds of the digits after the point."""
    return 0 if digits is None else int(digits[:6].ljust(6, "0"))
