"""The model of a call as it was read, compared with the live one at inputs and baselines of the call."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.reading import Reading, check_columns, read, with_likelihood
from gplens.calls.given_table import Given
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.lines.switches import Switches
from gplens.paths.category_paths import switches_of
from gplens.processes.process import Marginals

CHECKED = 64
"""The most inputs, and as many baselines, at which a model that was just read is compared with the host."""
CHECKED_AGAIN = 8
"""The same for a Reading, which was compared when it was read."""


@final
@dataclass(frozen=True, eq=False)
class LiveModel:
    """A model that equals the live one at points of this call."""

    reading: Reading
    switches: Switches | None
    """The blocks of inputs that are categories; None if all inputs are numbers."""
    compared_at: Marginals | None
    """The marginals at inputs, baselines and points half-way; None if some columns have no half-way."""

    @property
    def likelihood(self) -> Likelihood | None:
        """The given likelihood, or the one that the model carries."""
        return self.reading.likelihood

    @staticmethod
    def compared(model: Any, likelihood: Any, given: Given) -> "LiveModel":
        """Read the model, unless it is a Reading, and compare it with the live one.

        Points half-way between inputs and baselines have the categories and rounded numbers of their inputs.
        """
        X, baselines = given.X, given.baselines
        most, every_baseline = CHECKED_AGAIN if isinstance(model, Reading) else CHECKED, baselines.flatten(0, 1)
        rows = _telling(X, most)
        points = torch.cat([X[rows], every_baseline[_telling(every_baseline, most)]])
        if isinstance(model, Reading):
            reading = model if likelihood is None else with_likelihood(model, likelihood)
        else:
            reading = read(model, likelihood, points=points)
        check_columns(reading.process.features, X)
        blocks = [*reading.process.categories, *given.declared]
        rounded = [(column,) for column in reading.process.rounded]
        held = switches_of([*blocks, *rounded]) if blocks or rounded else None
        starts = (baselines[:, 0] if len(baselines) == 1 else baselines[rows, 0]).expand_as(X[rows])
        half_way = (X[rows] + (starts if held is None else held.held(starts, X[rows]))) / 2
        points = torch.cat([points, half_way])
        at = reading.process.along(Line.at(points))
        try:
            reading = reading.compared(points, at)
        except (ValueError, ArithmeticError) as cause:
            if not isinstance(model, Reading):
                raise
            raise ValueError(
                f"{cause} If the model has changed since it was read, call gplens.read(model) again."
            ) from cause
        given.table.check_columns(f"the {reading.model}", reading.columns)
        return LiveModel(reading, switches_of(blocks) if blocks else None, at if held is None else None)


def _telling(X: Float[Tensor, "b d"], most: int) -> Int[Tensor, " k"]:
    """Some rows, evenly spaced, and those with the smallest and the largest value of each feature."""
    if len(X) == 1:
        return torch.zeros(1, dtype=torch.long)
    spaced = torch.linspace(0, len(X) - 1, min(len(X), most // 4)).long()
    extreme = torch.stack([X.argmin(0), X.argmax(0)], dim=1).flatten()
    return torch.cat([spaced, extreme])[:most].unique()
