"""Categories, with one input each, and columns that are left out."""

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar, NoReturn, final

import numpy as np

from gplens.adapters.entries import Entries, text_of
from gplens.columns.kind import Column, Kind, Numbers, Texts

WIDEST = 2.0**53
"""Whole numbers from here on are rounded in float64, so that different ones may be equal."""
LISTED = 3
"""The most categories of an average that are listed, those with the largest shares."""
MISSING = "missing"


@final
@dataclass(frozen=True)
class Category(Kind):
    """One input for each category of the training table; the default for texts and categories.

    A missing entry is a category of its own if the training table has one. A category that the training table does not
    have counts as the average of its rows, with a warning.

    Example:
        >>> import pandas
        >>> from gplens.estimators import GPRegressor
        >>> frame = pandas.DataFrame({"town": ["Ulm", "Rom", "Ulm", "Rom"] * 5, "size": range(20)})
        >>> model = GPRegressor(columns={"town": gplens.columns.Category()}, random_state=0, progress=False)
        >>> model = model.fit(frame, frame["size"] + 10.0 * (frame["town"] == "Ulm"))
        >>> model.explain(frame[:1]).feature_names
        ('town', 'size')
    """

    families: ClassVar[tuple[str, ...]] = ("text", "number", "boolean")

    def fit(self, entries: Entries) -> "CategoryColumn":
        self.check_family(entries)
        labels, values = labels_of(entries), np.unique(entries.values[~entries.missing])
        counts = Counter(labels)
        ordered = labels_of(replace(entries, values=values)) + ([None] if None in counts else [])
        shares = tuple(counts[category] / len(labels) for category in ordered)
        return CategoryColumn(entries.name, entries.family, tuple(ordered), shares)


def labels_of(entries: Entries) -> list[str | None]:
    """The entries as texts; None for a missing one."""
    if entries.family == "text":
        return list(entries.values)
    wide = np.abs(entries.values) >= WIDEST
    if bool(wide.any()):
        row = int(wide.argmax())
        raise ValueError(
            f"expected texts, or whole numbers below {WIDEST:.0f}, as categories in column {entries.name!r}, got "
            f"{entries.values[row]:.16g} in row {row}, from where on different numbers are rounded to the same one; "
            "convert the column to texts."
        )
    return [None if np.isnan(value) else text_of(entries.family, float(value)) for value in entries.values]


@final
@dataclass(frozen=True)
class CategoryColumn(Column):
    """A column of categories."""

    name: str
    family: str
    categories: tuple[str | None, ...]
    """The categories of the training table; None stands for missing entries."""
    shares: tuple[float, ...]
    """The fraction of the training rows in each category."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """No inputs for a column with one category, which does not distinguish any rows."""
        if len(self.categories) == 1:
            return ()
        return tuple(f"{self.name} = {MISSING if label is None else label}" for label in self.categories)

    @property
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        return (tuple(range(len(self.inputs))),) if self.inputs else ()

    @property
    def straight(self) -> str | None:
        return "one input for each category" if self.inputs else None

    @property
    def description(self) -> str:
        if not self.inputs:
            return f"one value, {MISSING if self.categories[0] is None else self.categories[0]!r}: no input"
        missing = ", missing is one of them" if None in self.categories else ""
        return f"one input for each of {len(self.categories)} categories{missing}"

    def encode(self, entries: Entries) -> Numbers:
        labels = labels_of(entries.as_family(self.family))
        places = {label: i for i, label in enumerate(self.categories)}
        rows = np.vstack([np.eye(len(self.categories)), np.array(self.shares)])  # the last row is for unseen ones
        unseen = [i for i, label in enumerate(labels) if label not in places]
        if unseen:
            first = MISSING if labels[unseen[0]] is None else repr(labels[unseen[0]])
            warnings.warn(
                f"column {self.name!r}: {first} in row {unseen[0]} is not a category of the training table; "
                f"{len(unseen)} of {len(labels)} rows have such entries, which count as the average of the training "
                "rows.",
                stacklevel=2,
            )
        inputs = rows[[places.get(label, len(places)) for label in labels]]
        return inputs if self.inputs else inputs[:, :0]

    def shown(self, entries: Entries) -> tuple[Numbers, Texts]:
        labels = labels_of(entries.as_family(self.family))
        trained = set(self.categories)
        texts = [MISSING if label is None else label for label in labels]
        marked = [text if label in trained else f"{text} (unseen)" for text, label in zip(texts, labels, strict=True)]
        return np.full(len(texts), np.nan), list(marked)

    def decode(self, values: Numbers) -> tuple[Numbers, Texts]:
        names = [MISSING if label is None else label for label in self.categories]
        texts: Texts = [self._mix(row, names) for row in values] if self.inputs else [names[0]] * len(values)
        return np.full(len(values), np.nan), texts

    def _mix(self, shares: Numbers, names: list[str]) -> str:
        """The category of a row, or the largest shares of an average of rows."""
        order = np.argsort(-shares, kind="stable")
        if shares[order[0]] == 1 and not shares[order[1:]].any():
            return names[order[0]]
        listed = [f"{100 * shares[i]:.3g} % {names[i]}" for i in order[:LISTED]]
        return ", ".join(listed) + (f", {len(order) - LISTED} more" if len(order) > LISTED else "")

    def constant(self, number: float) -> NoReturn:
        raise ValueError(
            f"expected a baseline with a category of column {self.name!r}, got the number {number:g}; pass a row of "
            "the table, or gplens.baselines.Mean(X_train)."
        )


@final
@dataclass(frozen=True)
class Drop(Kind):
    """The column is left out of the model; its attributions are zero.

    Example:
        >>> gplens.columns.Drop()
        Drop()
    """

    families: ClassVar[tuple[str, ...]] = ("number", "boolean", "text", "datetime", "date", "time", "duration")

    def fit(self, entries: Entries) -> "DroppedColumn":
        return DroppedColumn(entries.name, "left out")


@final
@dataclass(frozen=True)
class DroppedColumn(Column):
    """A column without inputs."""

    name: str
    reason: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        return ()

    @property
    def straight(self) -> str | None:
        return None

    @property
    def description(self) -> str:
        return f"{self.reason}: no input"

    def encode(self, entries: Entries) -> Numbers:
        return np.empty((len(entries.values), 0))

    def shown(self, entries: Entries) -> tuple[Numbers, Texts]:
        number = entries.family == "number"
        numbers = entries.values if number else np.full(len(entries.values), np.nan)
        missing = entries.missing
        return numbers, [None if number and not missing[i] else entries.shown(i) for i in range(len(missing))]

    def decode(self, values: Numbers) -> tuple[Numbers, Texts]:
        return np.full(len(values), np.nan), ["left out"] * len(values)

    def constant(self, number: float) -> Numbers:
        return np.empty(0)
