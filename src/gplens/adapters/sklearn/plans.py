"""The plan of a fitted transformer: coordinates that move along straight lines, and a smooth map of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatch
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool
from numpy.typing import NDArray
from torch import Tensor

from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap

Run = Callable[[Any], Any]
"""A function from a table to the host's output."""
Show = Callable[[NDArray[np.float64]], list[str | float | None]]
"""A function from the outputs of one column to a text or a number for each row; None for neither."""
UNUSED = 0.5
"""The value of a coordinate on which no used output depends; logarithms and logits are defined there."""


@final
@dataclass(frozen=True, eq=False)
class Encoded:
    """Outputs of a step through which a straight line of raw inputs has no meaning: they are coordinates themselves."""

    origins: tuple[int, ...]
    """The input column of each output."""
    run: Run
    """A table -> an array (rows, len(origins))."""
    step: str
    """Name of the step's class."""
    shown: Mapping[int, Show] = field(default_factory=dict)
    """Functions from outputs to texts or numbers, for some of the input columns."""
    numeric: bool = False
    """Whether the input columns are numbers."""

    def only(self, kept: Bool[Tensor, " n"]) -> "Encoded":
        """Some of the outputs."""
        if bool(kept.all()):
            return self
        places = kept.nonzero()[:, 0].tolist()
        origins = tuple(self.origins[i] for i in places)
        return replace(self, origins=origins, run=lambda X: self.run(X)[:, places], shown={})

    def of(self, origins: Mapping[int, int], run: Run) -> "Encoded":
        """The same outputs in terms of another table, from whose columns the input columns come."""
        shown = {origins[column]: show for column, show in self.shown.items()}
        return replace(self, origins=tuple(origins[i] for i in self.origins), run=run, shown=shown)


@final
@dataclass(frozen=True, eq=False)
class StepPlan:
    """Coordinates of a table, and the map from them to the outputs of a transformer."""

    inputs: int
    """The number of columns of the table."""
    raw: tuple[int, ...]
    """The columns whose numbers are coordinates, the first ones."""
    encoded: tuple[Encoded, ...]
    """The other coordinates: outputs of encoding steps."""
    map: SmoothMap

    @property
    def origins(self) -> tuple[int, ...]:
        """The column that each coordinate comes from."""
        return (*self.raw, *(origin for part in self.encoded for origin in part.origins))

    @property
    def complete(self) -> bool:
        """Whether the coordinates are simply the columns of the table."""
        return not self.encoded and self.raw == tuple(range(self.inputs))

    def completed(self) -> "StepPlan":
        """The same plan with every column as a coordinate, if it has no encoded outputs."""
        return StepPlan.smooth(SmoothMap.columns(self.inputs, torch.tensor(self.raw).long()).then(self.map))

    @staticmethod
    def smooth(phi: SmoothMap | AffineMap) -> "StepPlan":
        """The plan of a transformer that is a map of numbers."""
        phi = SmoothMap.of(phi) if isinstance(phi, AffineMap) else phi
        return StepPlan(phi.inputs, tuple(range(phi.inputs)), (), phi)

    @staticmethod
    def of_encoder(
        inputs: int, origins: Sequence[int], step: Any, shown: Mapping[int, Show] | None = None, numeric: bool = False
    ) -> "StepPlan":
        """The plan of a transformer whose outputs are coordinates."""
        part = Encoded(tuple(origins), lambda X: transformed(step, X), type(step).__name__, shown or {}, numeric)
        return StepPlan(inputs, (), (part,), SmoothMap.columns(len(part.origins)))

    def then(self, following: "StepPlan", run: Run, step: str) -> "StepPlan":
        """This transformer, which the host runs as `run`, followed by another one, of class `step`."""
        lifted = [self._lifted(part, run, step) for part in following.encoded]
        used = self.map.depends[:, list(following.raw)].any(1)
        mine = self._only(used)
        n, extra = len(mine.origins), len(following.origins) - len(following.raw)
        picked = mine.map.then(SmoothMap.columns(self.map.outputs, torch.tensor(following.raw).long()))
        raw = len(following.raw)
        both = SmoothMap.side_by_side(
            n + extra,
            raw + extra,
            [
                (range(n), range(raw), picked),
                (range(n, n + extra), range(raw, raw + extra), SmoothMap.columns(extra)),
            ],
        )
        return StepPlan(self.inputs, mine.raw, (*mine.encoded, *lifted), both.then(following.map))

    def _only(self, used: Bool[Tensor, " n"]) -> "StepPlan":
        """The same plan with some of the coordinates; the others get a constant on which nothing depends."""
        if bool(used.all()):
            return self
        raw = tuple(column for column, kept in zip(self.raw, used.tolist(), strict=False) if kept)
        parts = used[len(self.raw) :].split([len(part.origins) for part in self.encoded]) if self.encoded else ()
        encoded = tuple(part.only(kept) for part, kept in zip(self.encoded, parts, strict=True))
        W = torch.eye(len(used), dtype=torch.float64)[used]
        fill = torch.where(used, 0.0, UNUSED).double()
        placed = SmoothMap.of(AffineMap(W, lambda x: x @ W + fill))
        return StepPlan(self.inputs, raw, tuple(part for part in encoded if part.origins), placed.then(self.map))

    def _lifted(self, part: Encoded, run: Run, step: str) -> Encoded:
        """Coordinates that are made of the outputs of this transformer, in terms of its inputs."""
        origins = {}
        for column in part.origins:
            sources = {self.origins[i] for i in self.map.depends[:, column].nonzero()[:, 0].tolist()}
            if len(sources) != 1:
                raise ValueError(
                    f"expected {step} on outputs that come from one column of the table each, got one that mixes "
                    f"{len(sources)}: {sorted(sources)}; put {step} before the step that mixes columns, or {INSTEAD}"
                )
            origins[column] = sources.pop()
        lifted = part.of(origins, lambda X: part.run(run(X)))
        return replace(lifted, shown={}) if part.numeric or len(set(origins.values())) < len(origins) else lifted

    @staticmethod
    def side_by_side(inputs: int, outputs: int, branches: "Sequence[Branch]") -> "StepPlan":
        """Transformers of some columns each, whose outputs are put into columns of one table."""
        used = sorted({branch.columns[i] for branch in branches for i in branch.plan.raw})
        place, at, encoded, parts = {column: i for i, column in enumerate(used)}, len(used), [], []
        for branch in branches:
            plan = branch.plan
            coordinates = [place[branch.columns[i]] for i in plan.raw]
            coordinates += range(at, at := at + len(plan.origins) - len(plan.raw))
            parts.append((coordinates, branch.outputs, plan.map))
            encoded += [branch.outward(part) for part in plan.encoded]
        return StepPlan(inputs, tuple(used), tuple(encoded), SmoothMap.side_by_side(at, outputs, parts))


@final
@dataclass(frozen=True, eq=False)
class Branch:
    """One of several transformers side by side."""

    columns: Sequence[int]
    """The columns of the table that it takes."""
    outputs: Sequence[int]
    """The columns of the result that it makes."""
    plan: StepPlan
    select: Run
    """The table -> its columns, as the host selects them."""

    def outward(self, part: Encoded) -> Encoded:
        """Its encoded coordinates in terms of the whole table."""
        return part.of(dict(enumerate(self.columns)), lambda X: part.run(self.select(X)))


INSTEAD = (
    "explain the last step in its own inputs: gplens.explain(pipeline[-1], pipeline[:-1].transform(X), "
    "baseline=pipeline[:-1].transform(x0))."
)


@singledispatch
def plan_of(step: Any, features: int) -> StepPlan:
    """The plan of a fitted transformer of so many columns; an error for one that is not known."""
    raise ValueError(
        "expected scalers, encoders, imputers and other steps that docs/HOSTS.md lists, got "
        f"{type(step).__name__}, through which a path in the columns of the table is not defined; {INSTEAD}"
    )


def transformed(step: Any, X: Any) -> NDArray[np.float64]:
    """The output of a host's transformer for a table, dense and in float64."""
    output = step.transform(X)
    dense = output.toarray() if hasattr(output, "toarray") else output
    return np.asarray(dense, np.float64).reshape(len(dense), -1)


def tensor(array: Any) -> Tensor:
    """Fitted numbers as a float64 tensor."""
    return torch.tensor(np.asarray(array, np.float64))
