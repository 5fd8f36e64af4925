"""The posterior of an explanation: standard deviations, intervals, probabilities, ranks, importance."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.explanation.importance import Importance
from gplens.explanation.ranks import RankProbabilities
from gplens.explanation.spread import Spread


class Inferred:
    """The methods of `Explanation` that read its spread."""

    @property
    def std(self: Any) -> Float[Tensor, "b *c d"] | None:
        """Posterior standard deviation of every attribution; None unless asked for."""
        return None if self.spread is None else self.spread.std

    @property
    def std_error(self: Any) -> Float[Tensor, "b *c d"] | None:
        """Monte Carlo error of `std`; None if it is exact."""
        return None if self.spread is None else self.spread.std_error

    @property
    def covariance(self: Any) -> Float[Tensor, "b *c d d"] | None:
        """Posterior covariance of the attributions of an output; None unless asked for."""
        return None if self.spread is None else self.spread.covariance

    @property
    def draws(self: Any) -> Float[Tensor, "b draws *c d"] | None:
        """Posterior draws of the attributions; None unless asked for."""
        return None if self.spread is None else self.spread.draws

    @property
    def joint_draws(self: Any) -> bool:
        """Whether the attributions of a draw belong together."""
        return self.spread is None or self.spread.joint_draws

    @property
    def gaussian(self: Any) -> bool:
        """Whether the spread is exactly Gaussian."""
        return self.spread is not None and self.spread.gaussian

    def interval(self: Any, level: float = 0.9) -> tuple[Float[Tensor, "b *c d"], Float[Tensor, "b *c d"]]:
        """Lower and upper ends of the central posterior interval of every attribution."""
        return self._spread().interval(self.values, level)

    def probability_positive(self: Any) -> Float[Tensor, "b *c d"]:
        """The posterior probability that an attribution is above zero."""
        return self._spread().probability_positive(self.values)

    def probability_larger(self: Any, feature_a: str, feature_b: str) -> Float[Tensor, "b *c"]:
        """The posterior probability that |attribution of feature_a| > |attribution of feature_b|."""
        for name in (feature_a, feature_b):
            if name not in self.feature_names:
                raise ValueError(f"expected a feature of {list(self.feature_names)}, got {name!r}.")
        return self._spread().probability_larger(self.values, *map(self.feature_names.index, (feature_a, feature_b)))

    def rank_probabilities(self: Any) -> RankProbabilities:
        """The posterior probability that feature k has the r-th largest |attribution|: `.values[..., k, r]`."""
        shares, error = self._spread().rank_probabilities(self.values)
        return RankProbabilities(shares, self.feature_names, self.output_names, error, self.frame_backend)

    def importance(self: Any) -> Importance:
        """Mean |attribution| over the inputs, with its posterior after Samples(count, seed, across_rows=True)."""
        return Importance.of(self.values, self.spread, self.feature_names, self.output_names, self.frame_backend)

    def _spread(self: Any) -> Spread:
        return Spread(None) if self.spread is None else self.spread
