"""Numbers, names of features, targets and baselines, as people read them."""

import re
from collections.abc import Sequence
from math import floor, isfinite, log10
from typing import Any

LONGEST = 30
"""The most characters of a feature's name that is written in full."""
TARGETS = {
    "Response()": "prediction",
    "Latent()": "latent function",
    "EpistemicVariance()": "variance of the latent function",
    "PredictiveVariance()": "variance of an observation",
}
"""Names of targets in a title; any other target is shown by its repr."""


def elided(name: str, longest: int = LONGEST) -> str:
    """A name shortened to at most `most` characters by leaving out its middle, since both ends distinguish names."""
    name = " ".join(name.split())
    if len(name) <= longest:
        return name
    head = (longest - 1) * 3 // 5
    return f"{name[:head]}…{name[head + 1 - longest :]}"


def told_apart(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names of at most `most` characters; names that would look the same show where they differ."""
    short = [elided(name, longest) for name in names]
    for text in {text for text in short if short.count(text) > 1}:
        places = [i for i, other in enumerate(short) if other == text]
        whole = [" ".join(names[i].split()) for i in places]
        same = next((k for k, letters in enumerate(zip(*whole, strict=False)) if len(set(letters)) > 1), 0)
        first = max(longest // 5, same - longest // 4)
        for i, name in zip(places, whole, strict=True):
            head, window = name[: longest // 5], name[first : first + longest - longest // 5 - 2]
            short[i] = f"{head}…{window}" + ("…" if first + len(window) < len(name) else "")
    return short


def number(value: float, digits: int = 3) -> str:
    """A number with at least `digits` significant digits and no superfluous zeros: 12,346, 2011, −0.05, 3.2e−7."""
    if value == 0 or not isfinite(value):
        return "0" if value == 0 else str(value)
    size = floor(log10(abs(float(f"{value:.{digits - 1}e}"))))
    if -4 <= size < 7:
        text = _separated(value, max(0, digits - 1 - size))
        text = text.rstrip("0").rstrip(".") if "." in text else text
    else:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        text = f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    return text.replace("-", "−")


def _separated(value: float, places: int) -> str:
    """Thousands separators from 10,000 on, so that years have none."""
    return f"{value:,.{places}f}" if abs(value) >= 9999.5 else f"{value:.{places}f}"


def decimals(largest: float) -> int | None:
    """The number of decimals that shows three digits of the largest number; None if no fixed number suits."""
    if largest == 0 or not isfinite(largest):
        return 0
    size = floor(log10(largest))
    return max(0, 2 - size) if -4 <= size < 7 else None


def aligned(value: float, places: int | None, *, sign: bool = False) -> str:
    """A number with a fixed number of decimals; a number that would be rounded to zero, with one digit."""
    text = number(value) if places is None else _separated(value, places).replace("-", "−")
    if value != 0 and not re.search("[1-9]", text):
        text = number(value, 1)
    if value == 0:
        return "0"
    return f"+{text}" if sign and value > 0 else text


def with_deviation(value: float, std: float | None, places: int | None, *, sign: bool = True) -> str:
    """+39.2 ± 5.1, or +39.2 if the deviation is not known."""
    text = aligned(value, places, sign=sign)
    return text if std is None or not isfinite(std) else f"{text} ± {aligned(std, places)}"


def entry_text(text: str | None, value: float) -> str | None:
    """An entry of a table: its text, such as OldTown or 2019-01-07, else its number; None for a group of features."""
    if text is None:
        return number(value) if isfinite(value) else None
    return _first_shares(text) if re.match(r"[\d.]+ % .+, ", text) and len(text) > LONGEST else elided(text)


def _first_shares(text: str) -> str:
    """59.4 % automatic, …: the first shares of categories, since half of a number would be another number."""
    first, *rest = text.split(", ")
    shown = elided(first, LONGEST - 3)
    while rest and len(shown) + len(rest[0]) + 5 <= LONGEST:
        shown = f"{shown}, {rest.pop(0)}"
    return f"{shown}, …"


def with_values(label: str, value: str | None, baseline: str | None) -> str:
    """hour: 12 → 9, from the baseline to the input; hour = 9 if they are equal or there is no single baseline.

    The label alone without a value, as that of a group of features.
    """
    if value is None:
        return label
    return f"{label} = {value}" if baseline in (None, value) else f"{label}: {baseline} → {value}"


def others_label(count: int) -> str:
    """The label of the sum of so many features that are not shown: "297 others"."""
    return f"{count:,} other{'' if count == 1 else 's'}"


def target_text(provenance: Any, output: str | None) -> str:
    """A title such as "prediction of GPClassifier, versicolor", or "... , versicolor rather than setosa"."""
    target, _, contrast = provenance.target.rstrip(",").partition("), ")
    target = f"{target})" if contrast else target
    name = contrast or output or provenance.output
    called = f"{TARGETS.get(target, target)} of {provenance.model}"
    return f"{called}, {name}" if name else called


TABLES = {
    "Mean": "the mean of {}",
    "Sample": "the average over a background of {}",
    "Rows": "a row for each input",
    "Medoid": "the most central of {}",
    "Nearest": "the nearest of {} with another outcome",
}
"""Descriptions of baselines that are made from tables, by the names of their classes."""


def baseline_text(baseline: str) -> str:
    """What the attributions are relative to, from the repr of a baseline."""
    if rows := re.fullmatch(r"(\w+)\(X0? with (\d+) rows?(, weighted)?\)", baseline):
        return TABLES[rows[1]].format(f"{int(rows[2]):,} rows") if rows[1] in TABLES else baseline
    if best := re.fullmatch(r"Incumbent\((row \d+) of (\d+), (the \w+) y\)", baseline):
        return f"{best[1]}, {best[3]} outcome of {int(best[2]):,}"
    if given := re.fullmatch(r"Fixed\(([^,]+)\)", baseline):
        return f"an input of {given[1]} in every feature"
    given_rows = baseline.startswith("Fixed(")
    return "a given baseline" if given_rows else "zeros" if baseline == "Zeros()" else baseline
