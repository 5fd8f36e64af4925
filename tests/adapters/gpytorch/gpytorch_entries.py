"""How a model of the zoo is made, trained once for each process, and handed out afresh."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from gpytorch import likelihoods as lik
from gpytorch.kernels import Kernel
from gpytorch.means import ConstantMean, Mean
from gpytorch.models import GP
from gpytorch_fitting import Data, fit, synthetic
from gpytorch_models import Exact, Sparse
from gpytorch_parts import network
from torch import Tensor

INDUCING = 9
"""Few and far apart: K is well conditioned, so that the host's own rounding stays below 1e-13."""


@dataclass(frozen=True)
class Host:
    """A user's model and likelihood, with the data that they were fitted on."""

    model: GP
    likelihood: Any
    data: Data


@dataclass(frozen=True)
class Entry:
    """How to make one model of the zoo, and what is known of it."""

    name: str
    make: Callable[[Data], tuple[GP, Any]]
    kind: str = "real"
    features: int = 3
    single: bool = False
    """Whether it is float32."""
    formulas: bool = True
    """Whether all of its kernels have formulas in gplens, or some go through autograd."""

    @property
    def dtype(self) -> torch.dtype:
        """Of the model."""
        return torch.float32 if self.single else torch.float64

    def build(self) -> Host:
        """Untrained, with the same numbers every time; its random state is not that of the tests."""
        with torch.random.fork_rng():
            torch.manual_seed(11)
            data = synthetic(self.kind, self.features, self.dtype)
            model, likelihood = self.make(data)
            return Host(model.to(self.dtype), likelihood.to(self.dtype), data)

    def fresh(self) -> Host:
        """Trained, and for the caller alone."""
        host, (model, likelihood) = self.build(), states(self)
        host.model.load_state_dict(model)
        host.likelihood.load_state_dict(likelihood)
        host.model.eval()
        host.likelihood.eval()
        return host

    def double(self) -> Host:
        """In float64, with the jitter that the model has in its own dtype."""
        host = self.fresh()
        jitters = [(part, part.jitter_val) for part in host.model.modules() if hasattr(part, "inducing_points")]
        host.model.double()
        host.likelihood.double()
        for part, jitter in jitters:
            part.jitter_val = jitter
        data = Data(*(getattr(host.data, name).double() for name in ("x", "y", "inputs", "baseline")))
        return Host(host.model, host.likelihood, data)


@cache
def states(entry: Entry) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The state dicts after training, once for each process."""
    host = entry.build()
    with torch.random.fork_rng():
        torch.manual_seed(12)
        fit(host.model, host.likelihood, host.data)
    return host.model.state_dict(), host.likelihood.state_dict()


def exact(
    name: str,
    kernel: Callable[[], Kernel],
    mean: Callable[[], Mean] = ConstantMean,
    likelihood: Callable[[Tensor], Any] = lambda y: lik.GaussianLikelihood(),
    deep: bool = False,
    **facts: Any,
) -> Entry:
    """An ExactGP; the likelihood may look at y."""

    def make(data: Data) -> tuple[GP, Any]:
        subject = likelihood(data.y)
        features = network(data.x.shape[1]) if deep else None
        return Exact(data.x, data.y, subject, kernel(), mean(), features), subject

    return Entry(name, make, **facts)


def sparse(
    name: str,
    kernel: Callable[[], Kernel],
    likelihood: Callable[[], Any] = lik.GaussianLikelihood,
    mean: Callable[[], Mean] = ConstantMean,
    own_points: bool = False,
    deep: bool = False,
    options: dict[str, Any] | None = None,
    **facts: Any,
) -> Entry:
    """An ApproximateGP; `options` are those of Sparse."""

    def make(data: Data) -> tuple[GP, Any]:
        Z = data.x[:INDUCING]
        Z = torch.stack([Z, data.x[INDUCING : 2 * INDUCING]]) if own_points else Z
        features = network(data.x.shape[1]) if deep else None
        return Sparse(Z, kernel(), mean(), features=features, **(options or {})), likelihood()

    return Entry(name, make, **facts)
