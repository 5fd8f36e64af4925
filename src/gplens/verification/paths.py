"""The paths on which a model is checked, and their attributions as `explain` computes them."""

from dataclasses import dataclass, replace
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Reading, encoder_of, read
from gplens.adapters.tables import read_table
from gplens.baselines import Rows, as_baseline
from gplens.explain import explain
from gplens.explanation import Explanation
from gplens.uncertainty import Uncertainty
from gplens.verification.host import Host
from gplens.verification.round_paths import Polar, straightened


@final
@dataclass(frozen=True, eq=False)
class Paths:
    """Pairs of baselines and inputs of a model, in coordinates in which their paths are straight."""

    reading: Reading
    x: Float[Tensor, "b d"]
    x0: Float[Tensor, "b d"]
    polar: Polar | None = None
    """The map from these coordinates to inputs of the model, if cyclic columns follow arcs; else None."""

    @staticmethod
    def of(model: Any, X: Any, baseline: Any, likelihood: Any, rows: int) -> "Paths":
        """Some rows of a table, evenly spaced, each with its baseline or with one row of a background."""
        encoder = encoder_of(model)
        table = read_table(X, "X") if encoder is None else encoder.read(X, "X")[0]
        kept = getattr(model, "default_baseline", None)
        baselines = as_baseline(kept if baseline is None else baseline, encoder).rows(table.values)
        chosen = torch.linspace(0, len(table.values) - 1, min(rows, len(table.values))).long()
        of_rows = baselines.expand(len(table.values), -1, -1)[chosen]
        turn = torch.arange(len(chosen)) * max(of_rows.shape[1] // len(chosen), 1) % of_rows.shape[1]
        x, x0 = table.values[chosen], of_rows[torch.arange(len(chosen)), turn]
        if bool((x == x0).all(1).all()):
            raise ValueError("expected inputs that differ from their baselines, got paths of no length.")
        reading = replace(read(model, likelihood, points=torch.cat([x, x0])), encoder=None, columns=None)
        polar, x, x0 = straightened(() if encoder is None else encoder.arcs, x, x0)
        return Paths(reading if polar is None else polar.reading(reading), x, x0, polar)

    def host(self, host: Host) -> Host:
        """The host as a function of the coordinates of the paths."""
        return host if self.polar is None else self.polar.host(host)

    def explain(self, *, backwards: bool = False, uncertainty: Uncertainty | None = None) -> Explanation:
        """The attributions of all paths, from baselines to inputs or the other way."""
        x, x0 = (self.x0, self.x) if backwards else (self.x, self.x0)
        return explain(self.reading, x, baseline=Rows(x0), uncertainty=uncertainty, support=False)

    def first(self, count: int) -> "Paths":
        """The same object with the first paths only."""
        return replace(self, x=self.x[:count], x0=self.x0[:count])


def by_output(values: Tensor, explanation: Explanation) -> Tensor:
    """A field of an explanation with an axis of outputs."""
    return values[:, None] if explanation.output_names is None else values
