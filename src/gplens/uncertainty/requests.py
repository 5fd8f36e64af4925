"""What a user can ask for with explain(uncertainty=...)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final


class Uncertainty(ABC):
    """How much of the posterior distribution of the attributions is computed."""

    @property
    @abstractmethod
    def covariances(self) -> bool:
        """Whether covariances between features are wanted."""


@final
@dataclass(frozen=True)
class Diagonal(Uncertainty):
    """The standard deviation of every attribution."""

    @property
    def covariances(self) -> bool:
        """Not wanted."""
        return False


@final
@dataclass(frozen=True)
class Full(Uncertainty):
    """The covariance of all attributions of an output, and their standard deviations."""

    @property
    def covariances(self) -> bool:
        """Wanted."""
        return True


@final
@dataclass(frozen=True)
class Samples(Uncertainty):
    """Draws of the attributions from their posterior, for any statistic; repeatable by the seed.

    The draws of an input are joint over features and outputs. `joint=False` draws each attribution on its own, which
    is all that an interval needs and costs much less where there are hundreds of features.
    """

    count: int
    seed: int
    joint: bool = True

    @property
    def covariances(self) -> bool:
        """Where the draws are joint, the covariance that they have is given exactly as well."""
        return self.joint

    def __post_init__(self) -> None:
        if self.count < 2:
            raise ValueError(f"Samples wants two draws or more; got count={self.count}.")
