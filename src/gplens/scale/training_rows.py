"""Training rows that are read from Parquet files as needed: a sample, and the stream of each worker."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from pyarrow import types
from torch import Tensor

from gplens.estimators.training.rows import ORDERS, generator_of
from gplens.scale.work_list import Unit, WorkList

TRAIN, WATCH, TEST = range(3)
"""The role of a row: training, watching the bound, or scoring the fitted model."""
SAMPLE, GROUPS = 50_000, 64
"""The rows of a sample, and the most row groups from which they are taken if there are more rows."""
BUFFER = 65_536
"""The number of rows that a stream holds and shuffles."""

Batch = tuple[Float[Tensor, "b d"], Float[Tensor, " b"]]
Encode = Callable[[pyarrow.Table], Batch]
"""From a table to the inputs and targets of its usable rows, in the units of training."""


@final
@dataclass(frozen=True)
class Division:
    """The role of each row, by a random number that depends only on the seed and the position of the row."""

    seed: int
    holdout: float
    """The fraction of the rows for the score."""
    watched: float
    """The fraction of the other rows on which the bound is watched."""

    def roles(self, unit: Unit) -> NDArray[np.int8]:
        """The roles of the rows of a unit."""
        u = np.random.default_rng([self.seed, unit.first]).random(unit.rows)
        watch = self.holdout + (1 - self.holdout) * self.watched
        return np.select([u < self.holdout, u < watch], [TEST, WATCH], TRAIN).astype(np.int8)


@final
@dataclass(frozen=True)
class Columns:
    """The columns of features and of the target."""

    features: tuple[str, ...]
    target: str

    @property
    def every(self) -> tuple[str, ...]:
        """All columns that are read."""
        return (*self.features, self.target)

    def with_target(self, piece: pyarrow.Table) -> NDArray[np.bool_]:
        """The rows whose target is neither missing nor infinite."""
        column = piece[self.target]
        if types.is_floating(column.type):
            return np.isfinite(column.to_numpy())  # a missing number is NaN there
        return column.is_valid().to_numpy()


def sample(work: WorkList, columns: Columns, division: Division) -> tuple[pyarrow.Table, NDArray[np.int8]]:
    """A sample and its roles: all rows if they are few, else equally many from each of some row groups.

    Raises:
        ValueError: if no row has a target.
    """
    generator, whole = np.random.default_rng([division.seed, 0, SAMPLE]), work.rows <= SAMPLE
    order = generator.permutation(len(work.units))
    chosen = [work.units[k] for k in sorted(order if whole else order[:GROUPS])]
    tables, roles = [], []
    for unit in chosen:
        share = 1.0 if whole else min(SAMPLE / len(chosen) / unit.rows, 1.0)
        kept, first = generator.random(unit.rows) < share, 0
        role = division.roles(unit)
        for piece in unit.pieces(columns.every):
            rows = np.flatnonzero(kept[first : first + piece.num_rows] & columns.with_target(piece))
            tables.append(piece.take(rows))
            roles.append(role[first : first + piece.num_rows][rows])
            first += piece.num_rows
    table = pyarrow.concat_tables(tables).combine_chunks()
    if table.num_rows == 0:
        raise ValueError(f"expected a column {columns.target!r} with entries, got none in {len(chosen)} row groups.")
    return table, np.concatenate(roles)


def shards(units: Sequence[Unit], count: int) -> list[list[Unit]]:
    """The units in `count` lists of about as many rows: the largest first, each to the shortest list.

    Raises:
        ValueError: if there are fewer units than lists.
    """
    if len(units) < count:
        raise ValueError(
            f"expected at least as many row groups as workers, got {len(units)} for {count} workers; write the files "
            "with smaller row groups, or use fewer workers."
        )
    lists: list[list[Unit]] = [[] for _ in range(count)]
    sizes = [0] * count
    for unit in sorted(units, key=lambda unit: (-unit.rows, unit.first)):
        shortest = sizes.index(min(sizes))
        lists[shortest].append(unit)
        sizes[shortest] += unit.rows
    return lists


@final
class Stream:
    """Batches of the training rows of some units, in a new order in each pass.

    Row groups are read in random order, and rows are shuffled in a buffer. The batches are determined by the seed, the
    units and the number of the stream, so that a stream continues after `skip_to` as if it had not been interrupted.
    """

    def __init__(
        self, units: Sequence[Unit], columns: Columns, division: Division, encode: Encode, *, size: int, number: int
    ) -> None:
        self.units, self.columns, self.division, self.encode = units, columns, division, encode
        self.size, self.number = size, number
        self.turn, self.first, self.step = 0, 0, 0
        self._batches = self._pass(0)

    def rows(self) -> int:
        """The number of rows to train on, from the column of targets alone."""
        total = 0
        for unit in self.units:
            roles, first = self.division.roles(unit), 0
            for piece in unit.pieces([self.columns.target]):
                train = roles[first : first + piece.num_rows] == TRAIN
                total += int((train & self.columns.with_target(piece)).sum())
                first += piece.num_rows
        return total

    def skip_to(self, turn: int, first: int, step: int) -> None:
        """Continue with `step`, in a pass whose first step was `first`."""
        self.turn, self.first, self.step = turn, first, first
        self._batches = self._pass(turn)
        while self.step < step:
            next(self)

    def __next__(self) -> Batch:
        batch = next(self._batches, None)
        if batch is None:
            self.turn, self.first = self.turn + 1, self.step
            self._batches = self._pass(self.turn)
            batch = next(self._batches, None)
            if batch is None:
                raise ValueError(
                    f"expected rows to train on in each shard, got none with target and inputs in {len(self.units)} "
                    f"row groups, the first of {self.units[0].file}; use fewer workers."
                )
        self.step += 1
        return batch

    def _pass(self, turn: int) -> Iterator[Batch]:
        """Full batches. The remaining rows at the end are left out, unless there is no full batch."""
        generator = generator_of(self.division.seed, ORDERS + (turn << 12) + self.number)
        X, y, full = torch.empty(0), torch.empty(0), False
        for unit in (self.units[k] for k in torch.randperm(len(self.units), generator=generator).tolist()):
            for rows, targets in self._encoded(unit):
                X, y = (torch.cat([X, rows]), torch.cat([y, targets])) if len(X) else (rows, targets)
                if len(X) >= max(BUFFER, self.size):
                    order = torch.randperm(len(X), generator=generator)
                    whole = len(X) // 2 // self.size * self.size or self.size
                    yield from ((X[k], y[k]) for k in order[:whole].split(self.size))
                    X, y, full = X[order[whole:]], y[order[whole:]], True
        batches = torch.randperm(len(X), generator=generator).split(self.size) if len(X) else ()
        for k in batches:
            if len(k) == self.size or not full:
                yield X[k], y[k]
                full = True

    def _encoded(self, unit: Unit) -> Iterator[Batch]:
        roles, first = self.division.roles(unit), 0
        for piece in unit.pieces(self.columns.every):
            train = roles[first : first + piece.num_rows] == TRAIN
            yield self.encode(piece.take(np.flatnonzero(train & self.columns.with_target(piece))))
            first += piece.num_rows
