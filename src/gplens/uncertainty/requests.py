"""What a user can ask for with explain(uncertainty=...)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final


class Uncertainty(ABC):
    """How much of the posterior distribution of the attributions is computed."""

    @property
    @abstractmethod
    def covariances(self) -> bool:
        """Whether covariances between features are computed."""

    def for_groups(self) -> "Uncertainty":
        """What the deviations of groups of features require."""
        return self


@final
@dataclass(frozen=True)
class Diagonal(Uncertainty):
    """The standard deviation of every attribution."""

    @property
    def covariances(self) -> bool:
        return False

    def for_groups(self) -> "Full":
        """The deviation of a sum needs the covariances of its terms."""
        return Full()


@final
@dataclass(frozen=True)
class Full(Uncertainty):
    """The covariance of all attributions of an output, and their standard deviations."""

    @property
    def covariances(self) -> bool:
        return True


@final
@dataclass(frozen=True)
class Samples(Uncertainty):
    """Draws of the attributions from their posterior, for any statistic; determined by the seed.

    The draws of an input are joint over features and outputs, and their exact covariance is computed too.
    `joint=False` draws each attribution on its own, which is all that an interval needs, and costs much less for
    hundreds of features.
    """

    count: int
    seed: int
    joint: bool = True

    @property
    def covariances(self) -> bool:
        return self.joint

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"Samples: expected count >= 2, got {self.count}.")
