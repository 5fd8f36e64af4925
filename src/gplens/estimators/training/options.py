"""How a sparse model is trained: small objects for the estimators' `training=`."""

from dataclasses import dataclass
from math import cos, pi
from typing import final


@final
@dataclass(frozen=True)
class Adam:
    """Adam for everything, q(u) included."""

    rate: float = 0.02


@final
@dataclass(frozen=True)
class NaturalGradients:
    """Natural gradients for q(u), Adam for the rest. For likelihoods whose log is concave in f."""

    rate: float = 0.3
    """1 goes all the way to the optimum of a Gaussian likelihood; minibatches want less."""
    adam_rate: float = 0.05


@final
@dataclass(frozen=True)
class Cosine:
    """From the full rate to `last` of it, along half a cosine."""

    last: float = 0.03

    def factor(self, done: float) -> float:
        """At a fraction of the steps."""
        return self.last + (1 - self.last) * (1 + cos(pi * done)) / 2


@final
@dataclass(frozen=True)
class Constant:
    """The same rate throughout."""

    def factor(self, done: float) -> float:
        """At a fraction of the steps."""
        return 1.0


@final
@dataclass(frozen=True)
class EarlyStopping:
    """Stop when the ELBO of held-out rows no longer grows, and keep the best model.

    Where a step sees all rows (small tables), nothing is held out: the bound itself is watched.
    """

    fraction: float = 0.05
    """Of the rows, held out where a step does not see all of them."""
    every: int = 20
    """Steps between two looks."""
    patience: int = 2
    """Looks without an improvement."""
    tolerance: float = 1e-3
    """What counts as one, in nats per row."""


@final
@dataclass(frozen=True)
class Training:
    """Minibatches, optimiser, schedule, stopping."""

    steps: int = 300
    batch: int = 1000
    optimizer: Adam | NaturalGradients | None = None
    """None takes natural gradients where the likelihood allows them."""
    schedule: Cosine | Constant = Cosine()
    stopping: EarlyStopping | None = EarlyStopping()
    learn_kernel: bool = True
    learn_inducing: bool = True
    single: bool = False
    """Train in float32, but for the Cholesky factor of K: twice as fast where products of matrices dominate. The fitted
    model is float64 either way."""
    checkpoint_every: int = 50
    """Steps between two checkpoints, where `fit` was given a folder for them."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"Training({name}={getattr(self, name)}): a number above zero was wanted.")
