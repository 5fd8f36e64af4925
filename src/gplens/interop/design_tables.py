"""Tables of a framework for experiments: named parameters, which the framework itself encodes for its model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import pandas
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows
from gplens.adapters.labels import EntryTexts
from gplens.adapters.tables import Table, frame_of, row_names_of

MIX = "several"
"""The text for an average over different categories, which is not one of them."""


def unchanged(values: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
    """The number of a parameter that is an input of the model itself."""
    return values


@final
@dataclass(frozen=True, eq=False)
class Parameter:
    """A column of the experiments, and the inputs of the model that encode it."""

    name: str
    inputs: tuple[int, ...]
    """The positions of its inputs; empty for a parameter that the model ignores."""
    number: Callable[[Float[Tensor, " b"]], Float[Tensor, " b"]] | None = None
    """From its only input back to its number; None for categories."""
    levels: Mapping[tuple[float, ...], str] | None = None
    """The category of each encoding; None for numbers."""

    def numbers(self, values: Float[Tensor, "b e"]) -> Float[Tensor, " b"]:
        """The numbers behind inputs of the model; NaN for categories."""
        if self.number is None or not self.inputs:
            return values.new_full(values.shape[:1], torch.nan)
        return self.number(values[:, self.inputs[0]])

    def texts(self, values: Float[Tensor, "b e"]) -> list[str | None]:
        """The categories behind inputs of the model; None for numbers."""
        if self.number is not None:
            return [None] * len(values)
        levels = self.levels or {}
        return [levels.get(tuple(row), MIX) for row in values[:, list(self.inputs)].tolist()]


@final
@dataclass(frozen=True, eq=False)
class DesignTables(Encoder):
    """The columns of experiments as inputs of a model. Other columns, such as outcomes, are ignored."""

    parameters: tuple[Parameter, ...]
    input_names: tuple[str, ...]
    encode: Callable[[pandas.DataFrame], Tensor]
    """The framework's own encoding of a frame that has all parameters as its columns."""
    straight_in: str | None = None
    """The coordinates in which a path is straight, if these are not the columns themselves."""

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.input_names

    @property
    def path(self) -> str | None:
        return self.straight_in

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(parameter.name for parameter in self.parameters)

    @property
    def categories(self) -> list[str]:
        """Parameters without values in between, which a path switches at once (10.1)."""
        return [parameter.name for parameter in self.parameters if parameter.number is None and parameter.inputs]

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        return tuple(parameter.inputs for parameter in self.parameters)

    def read(self, X: Any, what: str, *, vectors: bool = False) -> tuple[Table, OriginalRows]:
        frame, vector = _pandas_frame(X, what, self.names, vectors)
        missing = [name for name in self.names if name not in frame.columns]
        if missing or frame.empty:
            got = "no rows" if frame.empty else f"{list(frame.columns)}, without {missing}"
            raise ValueError(f"expected {what} with rows and the columns {list(self.names)}, got {got}.")
        columns: Any = frame[list(self.names)]
        values = self.encode(columns)
        bad = (~values.isfinite()).any(1).nonzero().flatten().tolist()
        if bad:
            raise ValueError(f"expected {what} with entries that can be encoded, got others in row {bad[0]}.")
        rows = row_names_of(frame_of(frame, what))
        return Table(values, self.names, vector, "pandas", rows), self.decode(values)

    def decode(self, values: Float[Tensor, "b e"]) -> OriginalRows:
        numbers = torch.stack([parameter.numbers(values) for parameter in self.parameters], dim=1)
        return OriginalRows(numbers, EntryTexts.of([parameter.texts(values) for parameter in self.parameters]))

    def constant(self, number: float) -> Float[Tensor, "1 e"]:
        texts = [parameter.name for parameter in self.parameters if parameter.number is None]
        if texts:
            raise ValueError(
                f"expected a row of the parameters as the baseline, got the number {number:g}, which is no category of "
                f"{texts}; pass a dictionary with all parameters."
            )
        return self.encode(pandas.DataFrame([dict.fromkeys(self.names, number)]))


def _pandas_frame(X: Any, what: str, names: tuple[str, ...], vectors: bool) -> tuple[pandas.DataFrame, bool]:
    """X as a frame of pandas, and whether it was a single row."""
    if vectors and isinstance(X, dict | pandas.Series):
        return pandas.DataFrame([dict(X)]), True
    if isinstance(X, pandas.DataFrame):
        return X, False
    frame = frame_of(X, what)
    if frame is None:
        row = ", or a dictionary" if vectors else ""
        raise ValueError(f"expected {what} as a frame with the columns {list(names)}{row}, got {type(X).__name__}.")
    return frame.to_pandas(), False
