"""Columns whose entries are numbers, or are represented by numbers: booleans, dates and times."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from gplens.adapters.entries import FAMILIES, Entries, text_of
from gplens.columns.kind import Column, Kind, Numbers, Texts

SAME = 1e-9
"""The largest difference between inputs and the inputs of the number that they decode to, relative to their size."""


@dataclass(frozen=True)
class Scalar(Kind):
    """A kind of column whose inputs are functions of one number."""

    @abstractmethod
    def inputs(self, name: str) -> tuple[str, ...]:
        """Names of the inputs."""

    @abstractmethod
    def forward(self, x: Numbers) -> Numbers:
        """The inputs (rows, inputs) of numbers."""

    @abstractmethod
    def backward(self, values: Numbers) -> Numbers:
        """The number with these inputs, or the nearest one for averages of inputs."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What the inputs are."""

    straight: ClassVar[str | None]
    """The coordinates in which a path is straight, as a phrase before "of" and names; None for the column."""

    def sharing(self) -> tuple[tuple[int, ...], ...]:
        """The inputs, in sets that share one scale."""
        return ((0,),)

    def arcs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of the inputs that are (cos, sin) of an angle."""
        return ()

    def check(self, x: Numbers) -> int | None:
        """The first row whose number has no inputs; None if every number has inputs."""
        return None

    def text(self, x: float) -> str | None:
        """A number as text; None if it is printed as a number."""
        return None

    def resolved(self, x: Numbers) -> "Scalar":
        """The same kind, with options that were left open taken from the training table."""
        return self

    def fit(self, entries: Entries) -> "ScalarColumn":
        self.check_family(entries)
        present = entries.values[~entries.missing]
        median = float(np.median(present))
        kind, layout = self.resolved(present), entries.layout
        column = ScalarColumn(entries.name, kind, entries.family, entries.zone, median, layout)
        column.checked(entries)
        return column if bool(entries.missing.any()) else replace(column, fill=None)


@final
@dataclass(frozen=True)
class ScalarColumn(Column):
    """A column of numbers, or of entries that are represented by numbers."""

    name: str
    kind: Scalar
    family: str
    zone: str | None
    """The time zone of datetimes."""
    fill: float | None
    """The median, which stands for missing entries; None if the training table had none."""
    layout: str | None = None
    """How the training table wrote dates or times that are texts; None for 2019-12-31."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.kind.inputs(self.name) + (() if self.fill is None else (f"{self.name} is missing",))

    @property
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        sets = self.kind.sharing()
        return sets if self.fill is None else (*sets, (len(self.inputs) - 1,))

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        return self.kind.arcs()

    @property
    def straight(self) -> str | None:
        coordinates = self.kind.straight
        return coordinates if self.fill is None else f"{coordinates or 'number'} and missingness"

    @property
    def description(self) -> str:
        if self.fill is None:
            return self.kind.description
        median = text_of(self.family, self.fill) if self.family != "number" else f"{self.fill:.6g}"
        return f"{self.kind.description}; missing: the median {median}, and 1 in {self.inputs[-1]!r}"

    def encode(self, entries: Entries) -> Numbers:
        entries = self.checked(entries)
        missing, x = entries.missing, entries.values
        if self.fill is not None:
            x = np.where(missing, self.fill, x)
        inputs = self.kind.forward(x)
        return inputs if self.fill is None else np.column_stack([inputs, missing.astype(np.float64)])

    def in_family(self, entries: Entries) -> Entries:
        """The entries in the family of the training table."""
        return entries.as_family(self.family, self.layout)

    def checked(self, entries: Entries) -> Entries:
        """The entries in the family of the training table, after a check that each one has inputs."""
        entries = self.in_family(entries)
        missing, x = entries.missing, entries.values
        if bool((~missing).any()) and entries.zone != self.zone:
            self._refuse(f"datetimes in the time zone {self.zone}", f"the time zone {entries.zone}", "convert them")
        if self.fill is None and bool(missing.any()):
            expected = f"{FAMILIES[self.family]} without missing ones, as in the training table,"
            self._refuse_row(expected, entries, int(missing.argmax()), "fill it, or drop the row")
        if bool(np.isinf(x).any()):
            self._refuse_row("finite numbers", entries, int(np.isinf(x).argmax()), "fill it, or drop the row")
        rows = np.flatnonzero(~missing)
        if (bad := self.kind.check(x[rows])) is not None:
            self._refuse_row(f"numbers that {self.kind!r} takes", entries, int(rows[bad]), "choose another kind")
        return entries

    def _refuse_row(self, expected: str, entries: Entries, row: int, remedy: str) -> None:
        self._refuse(expected, f"{entries.shown(row)} in row {row}", remedy)

    def _refuse(self, expected: str, got: str, remedy: str) -> None:
        raise ValueError(f"expected {expected} in column {self.name!r}, got {got}; {remedy}.")

    def shown(self, entries: Entries) -> tuple[Numbers, Texts]:
        entries = self.in_family(entries)
        return entries.values, self._texts(entries.values)

    def decode(self, values: Numbers) -> tuple[Numbers, Texts]:
        missing = values[:, -1] == 1 if self.fill is not None else np.zeros(len(values), dtype=bool)
        inputs = values if self.fill is None else values[:, :-1]
        x = self.kind.backward(inputs)
        off = np.abs(self.kind.forward(x) - inputs).max(1) > SAME * (1 + np.abs(inputs).max(1))
        texts = self._texts(np.where(missing, np.nan, x))
        around: Callable[[int], str] = lambda i: f"around {texts[i] or f'{x[i]:.4g}'}"  # noqa: E731
        texts = [around(i) if off[i] and not missing[i] else text for i, text in enumerate(texts)]
        return np.where(missing | off, np.nan, x), texts

    def _texts(self, x: Numbers) -> Texts:
        kind, family = self.kind, self.family
        plain = family == "number"
        return [
            "missing" if np.isnan(value) else kind.text(value) or (None if plain else text_of(family, float(value)))
            for value in x
        ]

    def constant(self, number: float) -> Numbers:
        if self.family not in ("number", "boolean"):
            family = FAMILIES[self.family]
            self._refuse(f"a baseline with {family}", f"the number {number:g}", "pass a row of the table")
        return self.encode(Entries(self.name, self.family, np.array([number])))[0]
