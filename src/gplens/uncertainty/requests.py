"""The requests that a user can pass as explain(uncertainty=...)."""

import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from gplens.adapters.numbers import as_float, as_int

TOLERANCE = 1e-3
"""The default tolerance of standard deviations, whose further digits nobody reads."""
FINEST = 1e-13
"""The smallest tolerance: below it, float64 has no more digits."""
SEEDS = 2**62
"""The largest seed: with a larger one, seed + row may exceed the range of torch's generator."""


class Uncertainty(ABC):
    """How much of the posterior distribution of the attributions is computed.

    Example:
        >>> from gplens.uncertainty import Uncertainty
        >>> isinstance(gplens.Diagonal(), Uncertainty)
        True
    """

    @property
    @abstractmethod
    def covariances(self) -> bool:
        """Whether covariances between features are computed."""

    @property
    def accuracy(self) -> float:
        """The tolerance of standard deviations."""
        return TOLERANCE

    def for_groups(self) -> "Uncertainty":
        """The request that gives standard deviations of groups of features."""
        return self.plain()

    def plain(self) -> "Uncertainty":
        """The same request with Python numbers."""
        return self


@final
@dataclass(frozen=True)
class Diagonal(Uncertainty):
    """The standard deviation of every attribution.

    The tolerance is the error of the deviations, relative to the largest one of an input and output.

    Raises:
        ValueError: if the tolerance is not in [1e-13, 1).

    Example:
        >>> request = gplens.Diagonal()
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=request)
        >>> print([round(std, 3) for std in e.std[0].tolist()])
        [0.184, 0.184]
    """

    tolerance: float | int = field(default=TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        _check_tolerance(self, self.tolerance)

    @property
    def accuracy(self) -> float:
        return float(self.tolerance)

    @property
    def covariances(self) -> bool:
        return False

    def for_groups(self) -> "Full":
        """The deviation of a sum needs the covariances of its terms."""
        return Full(tolerance=self.accuracy)

    def plain(self) -> "Diagonal":
        return Diagonal(tolerance=self.accuracy)


@final
@dataclass(frozen=True)
class Full(Uncertainty):
    """The covariance of all attributions of an output, and their standard deviations.

    The tolerance is the error of the deviations, relative to the largest one of an input and output.

    Raises:
        ValueError: if the tolerance is not in [1e-13, 1).

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Identity(), uncertainty=gplens.Full())
        >>> e.covariance.shape
        torch.Size([1, 2, 2])
    """

    tolerance: float | int = field(default=TOLERANCE, kw_only=True)

    def __post_init__(self) -> None:
        _check_tolerance(self, self.tolerance)

    @property
    def accuracy(self) -> float:
        return float(self.tolerance)

    @property
    def covariances(self) -> bool:
        return True

    def plain(self) -> "Full":
        return Full(tolerance=self.accuracy)


@final
@dataclass(frozen=True)
class Samples(Uncertainty):
    """Draws of the attributions from their posterior, for any statistic; determined by the seed.

    The draws of an input are joint over features and outputs, and their exact covariance is computed too.
    `joint=False` draws each attribution on its own, which suffices for intervals and is much cheaper for hundreds of
    features. With `across_rows=True`, draw s of every input is of the same posterior function, as
    `explanation.importance()` needs it; this works for up to some hundred inputs (MATH 5.24).

    Raises:
        TypeError: if `joint` or `across_rows` is not True or False.
        ValueError: if there are fewer than two draws, the seed is no whole number of 0 or more, or `across_rows` is
            asked for with joint=False.

    Example:
        >>> draws = gplens.Samples(500, seed=0)
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Exp(), uncertainty=draws)
        >>> e.spread.draws.shape
        torch.Size([1, 500, 2])
    """

    count: int
    """The number of draws."""
    seed: int
    joint: bool = True
    across_rows: bool = field(default=False, kw_only=True)

    @property
    def covariances(self) -> bool:
        return self.joint

    def __post_init__(self) -> None:
        count, seed = as_int(self.count), as_int(self.seed)
        if count is None or count < 2:
            raise ValueError(f"Samples: expected a whole number count >= 2, got {self.count!r}.")
        if seed is None or not 0 <= seed < SEEDS:
            raise ValueError(f"Samples: expected a whole number seed from 0 to 2^62, got {self.seed!r}.")
        if not isinstance(self.joint, bool | np.bool_):
            raise TypeError(f"Samples: expected joint=True or joint=False, got joint={self.joint!r}.")
        if not isinstance(self.across_rows, bool | np.bool_):
            raise TypeError(f"Samples: expected across_rows=True or False, got across_rows={self.across_rows!r}.")
        if self.across_rows and not self.joint:
            raise ValueError(
                "Samples: expected joint=True with across_rows=True, got joint=False; draws of one posterior function "
                "are joint over features too."
            )

    def plain(self) -> "Samples":
        return Samples(
            operator.index(self.count), operator.index(self.seed), bool(self.joint), across_rows=bool(self.across_rows)
        )


def _check_tolerance(request: Uncertainty, tolerance: Any) -> None:
    number = as_float(tolerance)
    if number is None or not FINEST <= number < 1:
        raise ValueError(
            f"{type(request).__name__}: expected a tolerance in [{FINEST:g}, 1), got {tolerance!r}; leave it out for "
            f"{TOLERANCE:g}."
        )
