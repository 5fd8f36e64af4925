"""The interface of kinds of columns: the `Kind` that a user chooses, and the `Column` that a fit makes of it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gplens.adapters.entries import FAMILIES, Entries

Numbers = NDArray[np.float64]
Texts = list[str | None]


class Column(ABC):
    """A column of the table that a model was fitted to: how its entries become inputs of the model, and back."""

    name: str

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs of the model."""

    @property
    @abstractmethod
    def sharing(self) -> tuple[tuple[int, ...], ...]:
        """The inputs, in sets that share one scale and one lengthscale."""

    @property
    @abstractmethod
    def straight(self) -> str | None:
        """The coordinates in which a path is straight, as a phrase before "of" and names; None for the column."""

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of inputs that are (cos, sin) of an angle, along which paths are arcs."""
        return ()

    @property
    @abstractmethod
    def description(self) -> str:
        """How the column becomes inputs, in one line."""

    @abstractmethod
    def encode(self, entries: Entries) -> Numbers:
        """Inputs of the model, (rows, inputs). Raises a ValueError with row and column for an entry without inputs."""

    @abstractmethod
    def shown(self, entries: Entries) -> tuple[Numbers, Texts]:
        """The entries as numbers, NaN for those that are none, and as texts, None where the number is printed."""

    @abstractmethod
    def decode(self, values: Numbers) -> tuple[Numbers, Texts]:
        """The entries that inputs of the model stand for, which may be averages of rows; in the form of `shown`."""

    @abstractmethod
    def constant(self, number: float) -> Numbers:
        """The inputs (inputs,) of a number. Raises a ValueError if the column does not hold numbers."""


@dataclass(frozen=True)
class Kind(ABC):
    """How a user wants a column to be read: gplens.columns.Cyclic(24), Category(), ...

    Example:
        >>> isinstance(gplens.columns.Cyclic(24), gplens.columns.Kind)
        True
    """

    families: ClassVar[tuple[str, ...]]
    """The families of entries that such a column may hold."""

    @abstractmethod
    def fit(self, entries: Entries) -> Column:
        """The column, with what its entries in the training table decide."""

    def check_family(self, entries: Entries) -> None:
        """Refuse a column whose entries cannot be of this kind."""
        if entries.family not in self.families and not bool(entries.missing.all()):
            accepted = " or ".join(FAMILIES[family] for family in self.families)
            raise ValueError(
                f"expected {accepted} in column {entries.name!r} for {self!r}, got {FAMILIES[entries.family]}; choose "
                "another kind in columns=, or convert the column."
            )
