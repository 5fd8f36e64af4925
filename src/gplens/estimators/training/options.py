"""How a sparse model is trained: objects for the estimators' `training=`."""

from dataclasses import dataclass
from math import cos, pi
from typing import final

from gplens.adapters.numbers import as_int


@final
@dataclass(frozen=True)
class Adam:
    """Adam for everything, q(u) included.

    Example:
        >>> from gplens.estimators import Adam, Training
        >>> Training(steps=100, optimizer=Adam(rate=0.01)).optimizer
        Adam(rate=0.01)
    """

    rate: float = 0.02


@final
@dataclass(frozen=True)
class NaturalGradients:
    """Natural gradients for q(u), Adam for the rest. For likelihoods that are log-concave in f.

    Example:
        >>> from gplens.estimators import NaturalGradients, Training
        >>> Training(optimizer=NaturalGradients(rate=0.2)).optimizer.rate
        0.2
    """

    rate: float = 0.3
    """1 reaches the optimum of a Gaussian likelihood in one step; minibatches need less."""
    adam_rate: float = 0.05
    """The rate of Adam, for everything but q(u)."""


@final
@dataclass(frozen=True)
class Cosine:
    """The rate falls from its full value to the fraction `last` of it along half a cosine.

    Example:
        >>> from gplens.estimators import Cosine, Training
        >>> Training(schedule=Cosine(last=0.1)).schedule
        Cosine(last=0.1)
    """

    last: float = 0.03

    def factor(self, done: float) -> float:
        """The factor of the rate when a fraction `done` of the steps is done."""
        return self.last + (1 - self.last) * (1 + cos(pi * done)) / 2


@final
@dataclass(frozen=True)
class Constant:
    """The rate stays the same.

    Example:
        >>> from gplens.estimators import Constant, Training
        >>> Training(schedule=Constant()).schedule
        Constant()
    """

    def factor(self, done: float) -> float:
        """1 at every step."""
        return 1.0


@final
@dataclass(frozen=True)
class EarlyStopping:
    """Stop when the ELBO of held-out rows no longer grows, and keep the best model.

    Where a step uses all rows (small tables), none are held out, and the bound itself is watched.

    Example:
        >>> from gplens.estimators import EarlyStopping, Training
        >>> Training(stopping=EarlyStopping(patience=5)).stopping.patience
        5
    """

    fraction: float = 0.05
    """The fraction of the rows that is held out, where a step does not use all of them."""
    every: int = 20
    """Steps between two evaluations."""
    patience: int = 2
    """Evaluations without improvement after which training stops."""
    tolerance: float = 1e-3
    """The smallest improvement that counts, in nats per row."""


@final
@dataclass(frozen=True)
class Training:
    """Minibatches, optimiser, schedule, stopping.

    Raises:
        ValueError: if `steps`, `batch` or `checkpoint_every` is not a whole number of 1 or more.

    Example:
        >>> from gplens.estimators import GPCountRegressor, Training
        >>> GPCountRegressor(training=Training(steps=50, batch=200)).training.steps
        50
    """

    steps: int = 300
    batch: int = 1000
    optimizer: Adam | NaturalGradients | None = None
    """None is natural gradients where the likelihood is log-concave, else Adam."""
    schedule: Cosine | Constant = Cosine()
    stopping: EarlyStopping | None = EarlyStopping()
    learn_kernel: bool = True
    """Whether the parameters of the kernel are trained, or stay where they start; `learn_inducing` says so of Z."""
    learn_inducing: bool = True
    single: bool = False
    """Train in float32, except for the Cholesky factor of K: twice as fast where matrix products dominate. The fitted
    model is float64 in either case."""
    checkpoint_every: int = 50
    """Steps between two checkpoints, where `fit` is given a folder for them."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "checkpoint_every"):
            number = as_int(getattr(self, name))
            if number is None or number < 1:
                raise ValueError(
                    f"expected a whole number of 1 or more for Training({name}=...), got {getattr(self, name)!r}."
                )
