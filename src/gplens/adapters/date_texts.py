"""Texts that are dates, as people write them into CSV files: the layout of a column, and what its texts stand for."""

import re
from collections.abc import Iterable
from datetime import datetime, timedelta

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
TIME = (
    r"(?:(?:T|,? )(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:\.(?P<part>\d{1,9}))?)?"
    r"(?: ?(?P<half>[AaPp][Mm]))?(?P<offset> ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
)
"""A time of day after a date, with or without AM or PM and the offset from UTC."""
YEAR, MONTH, DAY = r"(?P<year>\d{4})", r"(?P<month>\d\d?)", r"(?P<day>\d\d?)"
NAMED = rf"(?P<name>(?i:{'|'.join(MONTHS)}))[A-Za-z]*\.?"
ISO, DAY_FIRST, MONTH_FIRST = "2019-12-31", "31/12/2019", "12/31/2019"
LAYOUTS = {
    layout: re.compile(pattern + TIME, re.ASCII)
    for layout, pattern in {
        ISO: r"(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)",
        "2019/12/31": f"{YEAR}/{MONTH}/{DAY}",
        "31.12.2019": rf"{DAY}\.{MONTH}\.{YEAR}",
        DAY_FIRST: f"{DAY}/{MONTH}/{YEAR}",
        MONTH_FIRST: f"{MONTH}/{DAY}/{YEAR}",
        "31 Dec 2019": rf"{DAY}[ -]{NAMED}[ -]{YEAR}",
        "Dec 31, 2019": rf"{NAMED} {DAY},? {YEAR}",
    }.items()
}
"""By a date that is written so."""
UTC, OFFSETS = "UTC", "of the offsets in the texts"
"""Time zones of texts with Z, and with offsets such as +01:00, whose clock is the one that is written."""


def layouts_of(texts: Iterable[str]) -> list[str]:
    """The layouts that all texts have, with days that exist. 01/02/2019 alone has two of them."""
    left = dict(LAYOUTS)
    for text in texts:
        left = {layout: pattern for layout, pattern in left.items() if _moment(pattern, text) is not None}
        if not left:
            break
    return list(left)


def moments_of(texts: list[str | None], layout: str) -> list[datetime | None] | None:
    """The clock time of every text in a layout, None for a missing one; None if one of them has another layout."""
    moments = [None if text is None else _moment(LAYOUTS[layout], text) for text in texts]
    broken = any(moment is None and text is not None for moment, text in zip(moments, texts, strict=True))
    return None if broken else moments


def first_other(texts: list[str | None], layout: str) -> int | None:
    """The place of the first text that has another layout."""
    odd = (i for i, text in enumerate(texts) if text is not None and _moment(LAYOUTS[layout], text) is None)
    return next(odd, None)


def zone_of(texts: Iterable[str], layout: str) -> str | None:
    """The time zone that the texts name; None if none of them does."""
    found = {match["offset"] for text in texts if (match := LAYOUTS[layout].fullmatch(text)) is not None}
    if found == {None}:
        return None
    return UTC if {str(offset).strip() for offset in found} <= {"Z", "UTC"} else OFFSETS


def is_dated(texts: Iterable[str], layout: str) -> bool:
    """Whether no text has a time of day."""
    matches = (LAYOUTS[layout].fullmatch(text) for text in texts)
    return all(match is not None and match["hour"] is None for match in matches)


def _moment(pattern: re.Pattern[str], text: str) -> datetime | None:
    """The clock time that a text stands for; None if it does not have the layout, or there is no such day."""
    if (match := pattern.fullmatch(text)) is None:
        return None
    parts = match.groupdict()
    month = int(parts["month"]) if "month" in parts else MONTHS.index(parts["name"].lower()) + 1
    hour, half = int(parts["hour"] or 0), (parts["half"] or "").lower()
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "pm" else 0)
    try:
        begin = datetime(int(parts["year"]), month, int(parts["day"]), hour, int(parts["minute"] or 0))
        seconds = int(parts["second"] or 0)
        return None if seconds > 59 else begin + timedelta(seconds=seconds, microseconds=_micro(parts["part"]))
    except ValueError:  # the 31st of February
        return None


def _micro(digits: str | None) -> int:
    """Microseconds of the digits after the point."""
    return 0 if digits is None else int(digits[:6].ljust(6, "0"))
