"""What a column is taken for: the abstract `Kind` that a user chooses, and the `Column` that a fit makes of it."""

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
        """What a path is straight in, as a phrase before "of" and names of columns; None for the column itself."""

    @property
    def arcs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of the inputs that are (cos, sin) of an angle, along which paths go round."""
        return ()

    @property
    @abstractmethod
    def description(self) -> str:
        """What is done with the column, in a line."""

    @abstractmethod
    def encode(self, entries: Entries) -> Numbers:
        """Inputs of the model, (rows, inputs). Raises a ValueError with row and column for entries that have none."""

    @abstractmethod
    def shown(self, entries: Entries) -> tuple[Numbers, Texts]:
        """The entries as numbers, NaN where there is none, and as texts, None where the number is printed."""

    @abstractmethod
    def decode(self, values: Numbers) -> tuple[Numbers, Texts]:
        """The same of inputs of the model, such as those of an average row."""

    @abstractmethod
    def constant(self, number: float) -> Numbers:
        """The inputs for a number, (inputs,). Raises a ValueError if the column does not have numbers."""


@dataclass(frozen=True)
class Kind(ABC):
    """What a user says about a column: gplens.columns.Cyclic(24), Category(), ...

    Example:
        >>> isinstance(gplens.columns.Cyclic(24), gplens.columns.Kind)
        True
    """

    families: ClassVar[tuple[str, ...]]
    """What the entries of such a column can be."""

    @abstractmethod
    def fit(self, entries: Entries) -> Column:
        """What the entries of the training table make of it."""

    def check_family(self, entries: Entries) -> None:
        """Refuse a column whose entries cannot be of this kind."""
        if entries.family not in self.families and not bool(entries.missing.all()):
            accepted = " or ".join(FAMILIES[family] for family in self.families)
            raise ValueError(
                f"expected {accepted} in column {entries.name!r} for {self!r}, got {FAMILIES[entries.family]}; choose "
                "another kind in columns=, or convert the column."
            )
