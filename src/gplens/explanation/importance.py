"""How much each feature matters over many inputs: mean |attribution|, and its posterior distribution (MATH 5.24)."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.numbers import as_float
from gplens.explanation.ranks import checked_count
from gplens.explanation.sizes import ranks_of
from gplens.explanation.spread import Spread

SHOWN = 20
"""Features that the text shows."""
LEVEL = 0.9
"""The probability of the intervals in the text."""
ASK = (
    "Attributions of different inputs are correlated, because they are of one posterior function. Pass "
    "explain(uncertainty=gplens.Samples(1000, seed=0, across_rows=True)), whose draws are joint over the inputs; "
    "`importance().mean` needs none."
)


@final
@dataclass(frozen=True, eq=False)
class Importance:
    """J_k = 1/b sum_i |IG_ik| of every feature over b inputs  (5.24).

    Example:
        >>> draws = gplens.Samples(200, seed=0, across_rows=True)
        >>> e = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=draws)
        >>> importance = e.importance()
        >>> importance.probability_among_first(1).sum().round().item()
        1.0
    """

    mean: Float[Tensor, "*c d"]
    """The mean |attribution| of the explanation: J of the expected attributions."""
    draws: Float[Tensor, "s *c d"] | None
    """J of posterior functions; None without draws that are joint over the inputs."""
    inputs: int
    """b, the number of inputs that J is a mean of."""
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    frame_backend: str | None = None
    """The library in which `to_frame` answers, as that of the explanation; names are the explanation's too."""

    @staticmethod
    def of(
        values: Float[Tensor, "b *c d"],
        spread: Spread | None,
        feature_names: tuple[str, ...],
        output_names: tuple[str, ...] | None,
        frame_backend: str | None,
    ) -> "Importance":
        """Compute the importance from attributions and their spread."""
        if not len(values):
            raise ValueError("expected an explanation of one or more inputs, got none.")
        draws = None if spread is None or not spread.joint_draws else spread.draws
        together = spread is not None and (spread.across_rows or len(values) == 1)
        sizes = torch.stack([row.abs() for row in draws]).mean(0) if draws is not None and together else None
        return Importance(values.abs().mean(0), sizes, len(values), feature_names, output_names, frame_backend)

    @property
    def expected(self) -> Float[Tensor, "*c d"]:
        """The posterior mean of J. It is larger than `mean`, by far if the attributions are very uncertain."""
        return self._drawn("the expected mean |attribution|").mean(0)

    def interval(self, level: float = LEVEL) -> tuple[Float[Tensor, "*c d"], Float[Tensor, "*c d"]]:
        """The ends of the central posterior interval of J, which may lie above `mean`, as `expected` does.

        Args:
            level: its posterior probability, between 0 and 1.

        Raises:
            ValueError: if the level is not a probability, or there are no draws that are joint over the inputs.

        Example:
            >>> draws = gplens.Samples(100, seed=0, across_rows=True)
            >>> e = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=draws)
            >>> lower, upper = e.importance().interval(0.9)
            >>> bool((lower < upper).all())
            True
        """
        probability = as_float(level)
        if probability is None or not 0 < probability < 1:
            raise ValueError(f"expected a level between 0 and 1, such as 0.9, got {level!r}.")
        tail, draws = (1 - probability) / 2, self._drawn("an interval of the mean |attribution|")
        return torch.quantile(draws, tail, dim=0), torch.quantile(draws, 1 - tail, dim=0)

    def probability_among_first(self, k: int) -> Float[Tensor, "*c d"]:
        """The posterior probability that a feature has one of the k largest J.

        Args:
            k: a whole number from 1 to the number of features.

        Raises:
            ValueError: if k is not such a number, or there are no draws that are joint over the inputs.

        Example:
            >>> draws = gplens.Samples(100, seed=0, across_rows=True)
            >>> e = gplens.explain(gp, X, baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=draws)
            >>> e.importance().probability_among_first(2).tolist()
            [1.0, 1.0]
        """
        count = checked_count(k, len(self.feature_names))
        among = ranks_of(self._drawn("the probability of a rank")) < count
        return among.to(self.mean.dtype).mean(0)

    def to_frame(self, *, level: float = LEVEL, first: int = 1) -> Any:
        """A frame with a row for each output and feature: mean, and the posterior where it is known.

        Args:
            level: the probability of the interval from `lower` to `upper`.
            first: the k of `probability_among_first`.

        Example:
            >>> list(explanation.importance().to_frame())
            ['feature', 'mean']
        """
        from gplens.explanation.export import frame_of

        outputs, d = self.output_names, len(self.feature_names)
        columns: dict[str, Any] = {} if outputs is None else {"output": [name for name in outputs for _ in range(d)]}
        columns["feature"] = list(self.feature_names) * (1 if outputs is None else len(outputs))
        parts: dict[str, Tensor] = {"mean": self.mean}
        if self.draws is not None:
            lower, upper = self.interval(level)
            among = self.probability_among_first(first)
            parts |= {"expected": self.expected, "lower": lower, "upper": upper, "probability_among_first": among}
        columns |= {name: part.flatten().numpy() for name, part in parts.items()}
        return frame_of(columns, self.frame_backend)

    def __repr__(self) -> str:
        """A table for each output, the largest features first."""
        inputs = f"{self.inputs} input{'' if self.inputs == 1 else 's'}"
        posterior = (
            "without error bars, which uncertainty=gplens.Samples(1000, seed=0, across_rows=True) gives"
            if self.draws is None
            else f"{100 * LEVEL:g} % intervals, joint over the inputs"
        )
        names = self.output_names
        tables = [self._table(j) for j in range(1 if names is None else len(names))]
        return "\n".join([f"Importance: mean |attribution| over {inputs}; {posterior}", *tables])

    def _table(self, j: int) -> str:
        at = (...,) if self.output_names is None else (..., j, slice(None))
        mean = self.mean[at]
        order = mean.argsort(descending=True, stable=True).tolist()
        title = "" if self.output_names is None else self.output_names[j]
        width = max([len(title), *(len(self.feature_names[k]) for k in order[:SHOWN])])
        columns, heads = [mean], ["mean"]
        if self.draws is not None:
            low, high = self.interval()
            columns += [self.expected[at], low[at], high[at], self.probability_among_first(1)[at]]
            heads += ["expected", "lower", "upper", "P(first)"]
        lines = [f"    {title:<{width}}" + "".join(f"{head:>12}" for head in heads)]
        for k in order[:SHOWN]:
            numbers = "".join(f"{float(column[k]):>12.4g}" for column in columns)
            lines.append(f"    {self.feature_names[k]:<{width}}{numbers}")
        if len(order) > SHOWN:
            lines.append(f"    {len(order) - SHOWN} other features")
        return "\n".join(lines)

    def _drawn(self, what: str) -> Float[Tensor, "s *c d"]:
        if self.draws is None:
            raise ValueError(f"expected draws that are joint over the inputs for {what}, got none. {ASK}")
        return self.draws
