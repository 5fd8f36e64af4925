"""A small table in HTML with bars and whiskers, for notebooks: no script, for light and dark pages."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import final

WIDTH, HEIGHT = 200, 16
"""The size of a bar's picture, in pixels."""
MARGIN = 4
"""The margin left and right of the scale, for the caps of whiskers."""
STYLE = (
    ".gplens{font-size:13px;line-height:1.35;color:inherit;--raises:#d55e00;--lowers:#0072b2}"
    "@media (prefers-color-scheme:dark){.gplens{--raises:#f08a3c;--lowers:#4ba3dd}}"
    ".gplens b{font-weight:600}.gplens .dim{opacity:.65}"
    ".gplens table{border-collapse:collapse;background:none;color:inherit;margin:.3em 0;font-size:13px}"
    ".gplens tr{background:none!important}"
    ".gplens td,.gplens th{border:0;padding:1px 10px 1px 0;text-align:left;white-space:nowrap;color:inherit;"
    "font-weight:normal}"
    ".gplens .number{text-align:right;font-variant-numeric:tabular-nums}"
    ".gplens svg{display:block;overflow:visible}"
)
"""Colours of texts and whiskers are those of the page; the two hues of bars are the ones of gplens.plots."""


@final
@dataclass(frozen=True)
class Entry:
    """A line of a table: a name, a number as text, and the value and interval of its bar."""

    name: str
    given: str
    """Beside the name: the value of a feature."""
    number: str
    value: float
    low: float | None = None
    high: float | None = None


@final
@dataclass(frozen=True)
class Bars:
    """Lines with bars on one scale, below a caption."""

    caption: str
    entries: Sequence[Entry]
    rest: str = ""
    """A note on what is not shown."""
    signed: bool = True
    """Whether bars are coloured by sign; otherwise all bars have one colour."""


def card(title: str, facts: Sequence[tuple[str, str]], tables: Sequence[Bars], notes: Sequence[str] = ()) -> str:
    """A title, facts with their names, tables, and notes, as HTML."""
    rows = "".join(f'<tr><td class="dim">{escape(name)}</td><td>{escape(text)}</td></tr>' for name, text in facts)
    parts = [f"<b>{escape(title)}</b>", f"<table>{rows}</table>" if rows else "", *map(_table, tables)]
    parts += [f'<div class="dim">{escape(text)}</div>' for text in notes]
    return f'<div class="gplens"><style>{STYLE}</style>{"".join(parts)}</div>'


def _table(table: Bars) -> str:
    ends = [end for entry in table.entries for end in (0.0, entry.value, entry.low, entry.high) if end is not None]
    finite = [end for end in ends if isfinite(end)] or [0.0]
    scale = _Scale(min(finite), max(finite))
    rows = "".join(_row(entry, scale, table.signed) for entry in table.entries)
    rest = f'<tr><td class="dim" colspan="4">{escape(table.rest)}</td></tr>' if table.rest else ""
    return f"<div>{escape(table.caption)}</div><table>{rows}{rest}</table>"


def _row(entry: Entry, scale: "_Scale", signed: bool) -> str:
    texts = f'<td>{escape(entry.name)}</td><td class="number dim">{escape(entry.given)}</td>'
    return f'<tr>{texts}<td>{_bar(entry, scale, signed)}</td><td class="number">{escape(entry.number)}</td></tr>'


@final
@dataclass(frozen=True)
class _Scale:
    """From numbers to pixels."""

    low: float
    high: float

    def __call__(self, value: float) -> float:
        span = self.high - self.low
        share = (value - self.low) / span if span > 0 else 0.0
        return round(MARGIN + (WIDTH - 2 * MARGIN) * share, 2)


def _bar(entry: Entry, scale: _Scale, signed: bool) -> str:
    """A bar from zero to the value in the colour of its sign, a line at zero, and a whisker with caps."""
    zero, end = scale(0.0), scale(entry.value)
    middle, hue = HEIGHT // 2, "raises" if signed and entry.value > 0 else "lowers"
    shapes = [f'<rect x="{min(zero, end)}" y="3" width="{abs(end - zero):.2f}" height="10" fill="var(--{hue})"/>']
    shapes.append(_line(zero, 1, zero, HEIGHT - 1, "0.8", ' opacity="0.5"'))
    if entry.low is not None and entry.high is not None and isfinite(entry.low) and entry.high > entry.low:
        low, high = scale(entry.low), scale(entry.high)
        shapes.append(_line(low, middle, high, middle, "1.2"))
        shapes += [_line(cap, middle - 3, cap, middle + 3, "1.2") for cap in (low, high)]
    label = escape(f"{entry.name} {entry.number}", quote=True)
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<svg {size} role="img" aria-label="{label}">{"".join(shapes)}</svg>'


def _line(x1: float, y1: int, x2: float, y2: int, width: str, more: str = "") -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="currentColor" stroke-width="{width}"{more}/>'
