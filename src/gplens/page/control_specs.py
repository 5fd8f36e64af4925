"""The columns of the user's table as sliders and menus: encodings, ranges, histograms and first settings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gplens.adapters.encoders import Encoder
from gplens.columns.calendar import DateTime
from gplens.columns.category import CategoryColumn, DroppedColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.cyclic import DAY, Cyclic, Time
from gplens.columns.kind import Column
from gplens.columns.number import Boolean, Log, Number
from gplens.columns.scalar import ScalarColumn
from gplens.page.kernel_specs import NotLiveError

BINS = 24
"""The number of bars of the histogram behind a slider."""
FEW = 40
"""A column with at most this many whole numbers has a bar for each."""
Numbers = NDArray[np.float64]


def control_specs(encoder: Encoder | None, names: tuple[str, ...], table: Numbers) -> list[dict[str, Any]]:
    """A control for each column.

    Args:
        encoder: from tables to inputs; None if each column is a number and an input.
        names: the names of the columns.
        table: entries (rows, columns) in the form of the page (`entries_of`), for ranges and histograms.

    Raises:
        NotLiveError: if columns are transformed by steps that the page cannot evaluate.
    """
    if encoder is None:
        specs = [{"kind": "number", "family": "number", "fill": None, "inputs": 1} for _ in names]
    elif isinstance(encoder, ColumnPlan):
        specs = [_encoding(column) for column in encoder.columns]
    else:
        raise NotLiveError("the page cannot evaluate the steps of its pipeline")
    return [
        {"name": name, **spec, **_data(spec, table[:, i])}
        for i, (name, spec) in enumerate(zip(names, specs, strict=True))
    ]


def _encoding(column: Column) -> dict[str, Any]:
    """The encoding of an entry as inputs of the model."""
    count = len(column.inputs)
    if isinstance(column, CategoryColumn):
        labels = ["missing" if label is None else label for label in column.categories]
        return {"kind": "category", "family": "text", "categories": labels, "fill": None, "inputs": count}
    if isinstance(column, DroppedColumn):
        return {"kind": "dropped", "family": "text", "fill": None, "inputs": 0}
    assert isinstance(column, ScalarColumn)
    return {**_kind(column.kind), "family": column.family, "fill": column.fill, "inputs": count}


def _kind(kind: Any) -> dict[str, Any]:
    match kind:
        case Number():
            return {"kind": "number"}
        case Boolean():
            return {"kind": "boolean"}
        case Log():
            return {"kind": "log", "plus": float(kind.plus)}
        case Cyclic():
            return {"kind": "cyclic", "period": float(kind.period)}
        case Time():
            return {"kind": "cyclic", "period": DAY}
        case DateTime():
            return {"kind": "datetime", "parts": list(kind.parts or ()), "origin": float(kind.origin or 0.0)}
    raise NotLiveError(f"the page cannot evaluate columns of the kind {kind!r}")


def _data(spec: dict[str, Any], entries: Numbers) -> dict[str, Any]:
    """Range, histogram and a typical entry of a column, from its entries that are not missing."""
    present = entries[np.isfinite(entries)]
    if spec["kind"] == "category":
        counts = np.bincount(present.astype(int), minlength=len(spec["categories"]))
        return {"counts": counts.tolist(), "typical": int(counts.argmax())}
    if spec["kind"] == "dropped" or len(present) == 0:
        return {"low": 0.0, "high": 0.0, "counts": [], "edges": [0.0, 1.0], "typical": spec["fill"] or 0.0, "step": 0.0}
    low, high = float(present.min()), float(present.max())
    whole = bool((present == np.round(present)).all())
    few = whole and high - low < FEW
    bins, edges = (
        (int(high - low) + 1, (low - 0.5, high + 0.5)) if few else (BINS, (low, high if high > low else low + 1))
    )
    counts, _ = np.histogram(present, bins=bins, range=edges)
    typical = float(np.median(present))
    if whole:
        typical = float(np.round(typical))
    return {
        "low": low,
        "high": high,
        "counts": counts.tolist(),
        "edges": list(edges),
        "typical": typical,
        "step": _step(spec, low, high, whole),
    }


def _step(spec: dict[str, Any], low: float, high: float, whole: bool) -> float:
    """The step of a slider: days for dates, minutes for times, 1 for whole numbers, else about a 200th of the range."""
    unit = {"date": DAY, "datetime": 3600.0, "time": 60.0}.get(spec["family"])
    if unit is not None:
        return unit
    if whole:
        return 1.0
    span = high - low if high > low else 1.0
    return float(10.0 ** np.floor(np.log10(span / 100)))


def entries_of(encoder: Encoder | None, numbers: Numbers, texts: list[list[str | None]]) -> Numbers:
    """Rows of a table in the form of the page: numbers, positions of categories, NaN for missing and unseen entries."""
    if not isinstance(encoder, ColumnPlan):
        return numbers
    rows = numbers.copy()
    for k, column in enumerate(encoder.columns):
        if isinstance(column, CategoryColumn):
            place = {"missing" if label is None else label: i for i, label in enumerate(column.categories)}
            rows[:, k] = [place.get(text or "", np.nan) for text in texts[k]]
        elif isinstance(column, DroppedColumn):
            rows[:, k] = 0.0  # which is not an input
    return rows
