"""The columns of a table as the steps of a pipeline take them, and the coordinates in which paths are straight."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows, RawTable, read_raw
from gplens.adapters.entries import Entries
from gplens.adapters.labels import EntryTexts
from gplens.adapters.sklearn.plans import INSTEAD, Run, StepPlan
from gplens.adapters.sklearn.predictions import compare
from gplens.adapters.tables import Table, frame_of
from gplens.processes.curved import defined_at

Array = NDArray[np.float64]
LISTED = 6
"""The most columns that a sentence lists."""
ROUNDING = 1e-3
"""The accepted difference to the output of the host's steps, in units of the limit of `compare`."""


@final
@dataclass(frozen=True, eq=False)
class PipelineEncoder(Encoder):
    """The encoder of a pipeline: inputs are numbers of raw columns, and outputs of encoding steps."""

    plan: StepPlan
    run: Run
    """All steps of the host."""
    fitted: tuple[str, ...] | None
    """Names of the columns that the host was fitted on."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.fitted or tuple(f"x{k}" for k in range(self.plan.inputs))

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(f"{self.names[origin]}, coordinate {i}" for i, origin in enumerate(self.plan.origins))

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        origins = self.plan.origins
        return tuple(tuple(i for i, origin in enumerate(origins) if origin == k) for k in range(self.plan.inputs))

    @property
    def sums(self) -> bool:
        return self.blocks != tuple((i,) for i in range(len(self.blocks)))

    @property
    def path(self) -> str | None:
        raw, parts = [self.names[k] for k in self.plan.raw], []
        if raw:
            parts.append(f"in {_listed(raw)} as {'they are' if len(raw) > 1 else 'it is'}")
        by_step: dict[str, list[str]] = {}
        for part in self.plan.encoded:
            by_step.setdefault(part.step, []).extend(self.names[k] for k in dict.fromkeys(part.origins))
        parts += [f"in the output of {step} for {_listed(names)}" for step, names in by_step.items()]
        several = any(len(block) > 1 for block in self.blocks)
        sums = ", and the attributions of the outputs of one column are added up" if several else ""
        return f"the path is straight {'; '.join(parts)}{sums}"

    def read(self, X: Any, what: str, *, vectors: bool = False) -> tuple[Table, OriginalRows]:
        raw = read_raw(X, what, names=self.names, vectors=vectors)
        self._check(raw, what)
        table = self._native(X, raw, what)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            warnings.filterwarnings("ignore", "X has feature names, but", UserWarning)
            values = self._coordinates(table, raw, what)
            ours = defined_at(self.plan.map, values).values
            host = torch.as_tensor(_dense(self.run(table)))
        compare("number from the steps", ours, host, ROUNDING * (1 + host.abs().max()))
        shown = OriginalRows(*_numbers_and_texts([_shown(entries) for entries in raw.columns]))
        for k, entries in enumerate(raw.columns):
            if entries.family == "boolean":
                shown.numbers[:, k] = torch.as_tensor(entries.values)
        return Table(values, raw.names, raw.vector, raw.backend, raw.row_names), shown

    def decode(self, values: Float[Tensor, "b e"]) -> OriginalRows:
        columns = [self._decoded(k, values.numpy()[:, list(block)]) for k, block in enumerate(self.blocks)]
        return OriginalRows(*_numbers_and_texts(columns))

    def constant(self, number: float) -> Float[Tensor, "1 e"]:
        texts = [self.names[k] for part in self.plan.encoded if not part.numeric for k in part.origins]
        if texts:
            raise ValueError(
                f"expected a baseline with a category of column {texts[0]!r}, got the number {number:g}; pass a row "
                "of the table, or gplens.baselines.Mean(X_train)."
            )
        return self.read(np.full((1, self.plan.inputs), number), "the baseline")[0].values

    def _check(self, raw: RawTable, what: str) -> None:
        got, expected = (raw.names, self.fitted) if raw.names and self.fitted else (len(raw.columns), self.plan.inputs)
        if got != expected:
            raise ValueError(
                f"expected {what} with the columns that the model was fitted on, {expected}, got {got}; pass the same "
                "columns in the same order."
            )
        if raw.rows == 0:
            raise ValueError(f"expected {what} with at least one row, got none.")

    def _native(self, X: Any, raw: RawTable, what: str) -> Any:
        """The table as the host takes it: the user's frame, or a frame where the host finds columns by their names."""
        frame = frame_of(X, what)
        if frame is not None:
            return X if raw.backend in ("pandas", "polars") else frame.to_pandas()
        columns = {name: _cells(entries) for name, entries in zip(self.names, raw.columns, strict=True)}
        if self.fitted is not None:
            import pandas

            return pandas.DataFrame(columns)
        texts = any(entries.family == "text" for entries in raw.columns)
        return np.array(list(zip(*columns.values(), strict=True)), dtype=object if texts else np.float64)

    def _coordinates(self, table: Any, raw: RawTable, what: str) -> Float[Tensor, "b e"]:
        numbers = [_finite(raw.columns[k], self.names[k], what) for k in self.plan.raw]
        encoded = [part.run(table) for part in self.plan.encoded]
        for part, values in zip(self.plan.encoded, encoded, strict=True):
            if not np.isfinite(values).all():
                row, place = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
                raise ValueError(
                    f"expected finite numbers from {part.step}, got {values[row, place]} for column "
                    f"{self.names[part.origins[place]]!r} in row {row} of {what}; fit the pipeline with an imputer."
                )
        rows = [np.stack(numbers, axis=1)] if numbers else []
        return torch.as_tensor(np.concatenate([*rows, *encoded], axis=1))

    def _decoded(self, column: int, values: Array) -> list[str | float | None]:
        """A text or a number for each row; None where a column has neither."""
        if column in self.plan.raw:
            return list(values[:, 0].tolist())
        shows = [part.shown[column] for part in self.plan.encoded if column in part.shown]
        owners = [part for part in self.plan.encoded if column in part.origins]
        return shows[0](values) if shows and len(owners) == 1 else [None] * len(values)


def _finite(entries: Entries, name: str, what: str) -> Array:
    numbers = entries.called(name).as_family("number").values
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(
            f"expected finite numbers in column {name!r} of {what}, for which the pipeline has no imputer, got "
            f"{numbers[bad[0]]} in row {bad[0]}; fill it, or {INSTEAD}"
        )
    return numbers


def _cells(entries: Entries) -> list[Any]:
    """The entries as Python objects, which a frame takes."""
    return list(entries.values.tolist())


def _shown(entries: Entries) -> list[str | float | None]:
    if entries.family == "number":
        return ["missing" if np.isnan(value) else float(value) for value in entries.values]
    return [entries.shown(i) for i in range(len(entries.values))]


def _numbers_and_texts(columns: Sequence[list[str | float | None]]) -> tuple[Float[Tensor, "b d"], EntryTexts]:
    numbers = [[value if isinstance(value, float) else np.nan for value in column] for column in columns]
    texts = [[value if isinstance(value, str) else None for value in column] for column in columns]
    return torch.tensor(numbers, dtype=torch.float64).T.contiguous(), EntryTexts.of(texts)


def _dense(output: Any) -> Array:
    return np.asarray(output.toarray() if hasattr(output, "toarray") else output, np.float64)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")
