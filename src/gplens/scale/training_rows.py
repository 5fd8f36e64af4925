"""Rows to fit a model to, read from Parquet files as they are needed: a sample, and the stream of each worker."""

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
"""The role of a row: to learn from, to watch the bound on, or to score the fitted model."""
SAMPLE, GROUPS = 50_000, 64
"""The rows of a sample, and the most row groups that they are taken from if there are more rows than these."""
BUFFER = 65_536
"""Rows that a stream holds and mixes."""

Batch = tuple[Float[Tensor, "b d"], Float[Tensor, " b"]]
Encode = Callable[[pyarrow.Table], Batch]
"""Inputs and targets, in the units of training, of the rows of a table that have them."""


@final
@dataclass(frozen=True)
class Division:
    """The role of each row, by a random number that depends on the seed and on the place of the row alone."""

    seed: int
    holdout: float
    """The share of the rows for the score."""
    watched: float
    """The share of the others on which the bound is watched."""

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
        """All that are read."""
        return (*self.features, self.target)

    def with_target(self, piece: pyarrow.Table) -> NDArray[np.bool_]:
        """The rows whose target is neither missing nor infinite."""
        column = piece[self.target]
        if types.is_floating(column.type):
            return np.isfinite(column.to_numpy())  # a missing number is NaN there
        return column.is_valid().to_numpy()


def sample(work: WorkList, columns: Columns, division: Division) -> tuple[pyarrow.Table, NDArray[np.int8]]:
    """Rows that stand for all, and their roles: all rows if they are few, else as many from each of some row groups.

    Raises:
        ValueError: none of them has a target.
    """
    generator, whole = np.random.default_rng([division.seed, 0, SAMPLE]), work.rows <= SAMPLE
    order = generator.permutation(len(work.units))
    chosen = [work.units[k] for k in sorted(order if whole else order[:GROUPS])]
    tables, roles = [], []
    for unit in chosen:
        share = 1.0 if whole else min(SAMPLE / len(chosen) / unit.rows, 1.0)
        kept, start = generator.random(unit.rows) < share, 0
        role = division.roles(unit)
        for piece in unit.pieces(columns.every):
            rows = np.flatnonzero(kept[start : start + piece.num_rows] & columns.with_target(piece))
            tables.append(piece.take(rows))
            roles.append(role[start : start + piece.num_rows][rows])
            start += piece.num_rows
    table = pyarrow.concat_tables(tables).combine_chunks()
    if table.num_rows == 0:
        raise ValueError(f"expected a column {columns.target!r} with entries, got none in {len(chosen)} row groups.")
    return table, np.concatenate(roles)


def shards(units: Sequence[Unit], count: int) -> list[list[Unit]]:
    """The units in `count` lists of about as many rows: the largest first, each to the shortest list.

    Raises:
        ValueError: there are fewer units than lists.
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
    """Batches of the training rows of some units, pass after pass, in a new order for each pass.

    Row groups come in a random order, and rows are mixed in a buffer. What comes is determined by the seed, the units
    and the number of the stream, so that a stream goes on after `skip_to` as if it had not been interrupted.
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
            roles, start = self.division.roles(unit), 0
            for piece in unit.pieces([self.columns.target]):
                train = roles[start : start + piece.num_rows] == TRAIN
                total += int((train & self.columns.with_target(piece)).sum())
                start += piece.num_rows
        return total

    def skip_to(self, turn: int, first: int, step: int) -> None:
        """Go on with a step of a pass that began with the step `first`."""
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
        """Full batches; the rows that are left over at the end are left out, unless they are all there are."""
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
        roles, start = self.division.roles(unit), 0
        for piece in unit.pieces(self.columns.every):
            train = roles[start : start + piece.num_rows] == TRAIN
            yield self.encode(piece.take(np.flatnonzero(train & self.columns.with_target(piece))))
            start += piece.num_rows
