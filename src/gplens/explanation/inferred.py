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
        """Lower and upper ends of the central posterior interval of every attribution.

        Args:
            level: the posterior probability of each interval, between 0 and 1.

        Raises:
            ValueError: if the level is not a probability, or draws are needed and there are none.

        Example:
            >>> lower, upper = explanation.interval(0.9)
            >>> bool((lower < explanation.values).all()), bool((explanation.values < upper).all())
            (True, True)
        """
        return self._spread().interval(self.values, level)

    def probability_positive(self: Any) -> Float[Tensor, "b *c d"]:
        """The posterior probability that an attribution is above zero.

        Raises:
            ValueError: if draws are needed and there are none.

        Example:
            >>> bool((explanation.probability_positive()[0] > 0.9).all())
            True
        """
        return self._spread().probability_positive(self.values)

    def probability_larger(self: Any, feature_a: str, feature_b: str) -> Float[Tensor, "b *c"]:
        """The posterior probability that |attribution of feature_a| > |attribution of feature_b|.

        Args:
            feature_a, feature_b: names of features.

        Raises:
            ValueError: if there is no such feature, or covariances or joint draws are needed and there are none.

        Example:
            >>> a, b = explanation.probability_larger("time", "heat"), explanation.probability_larger("heat", "time")
            >>> (a + b).round(decimals=6).tolist()
            [1.0, 1.0]
        """
        for name in (feature_a, feature_b):
            if name not in self.feature_names:
                raise ValueError(f"expected a feature of {list(self.feature_names)}, got {name!r}.")
        return self._spread().probability_larger(self.values, *map(self.feature_names.index, (feature_a, feature_b)))

    def rank_probabilities(self: Any) -> RankProbabilities:
        """The posterior probability that feature k has the r-th largest |attribution|: `.values[..., k, r]`.

        Raises:
            ValueError: if covariances or joint draws are needed and there are none.

        Example:
            >>> explanation.rank_probabilities().values.shape
            torch.Size([2, 2, 2])
        """
        shares, error = self._spread().rank_probabilities(self.values)
        return RankProbabilities(shares, self.feature_names, self.output_names, error, self.frame_backend)

    def importance(self: Any) -> Importance:
        """Mean |attribution| over the inputs, with its posterior after Samples(count, seed, across_rows=True).

        Raises:
            ValueError: if the explanation has no inputs.

        Example:
            >>> bool((explanation.importance().mean == explanation.values.abs().mean(0)).all())
            True
        """
        return Importance.of(self.values, self.spread, self.feature_names, self.output_names, self.frame_backend)

    def _spread(self: Any) -> Spread:
        return Spread(None) if self.spread is None else self.spread
