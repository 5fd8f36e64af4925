"""A model evaluated by its own library: predictions, and joint distributions of its latent functions."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from gplens.adapters.estimators import FittedEstimator
from gplens.processes.process import Process

DOUBLE, SINGLE, SAMPLED = 1e-7, 2e-3, 1e-3
"""Error of predictions relative to the largest one: of float64, of float32, and of the points of a Sobol sequence."""
NODES = 96
"""Gauss-Hermite nodes of an expectation over one latent function."""
POINTS = 2**13
"""Sobol points of an expectation over several."""
BLOCK = 256
"""The most inputs of one call of the model."""
MAKERS = {"botorch": "botorch_host", "gpytorch": "gpytorch_host", "sklearn": "sklearn_host"}
"""The module of each library, with a function `host_of(model, likelihood)`. The first that fits is taken."""
NATIVE = "native_host"
"""The module for objects of gplens."""


class Joint(NamedTuple):
    """The distribution of independent latent functions at k inputs."""

    mean: Float[Tensor, "c k"]
    covariance: Float[Tensor, "c k k"]


@final
@dataclass(frozen=True, eq=False)
class Host:
    """A model of any library, evaluated by that library alone."""

    predict: Callable[[Float[Tensor, "k d"]], Float[Tensor, "k o"]] | None
    """The expected response at inputs; None if the model cannot be evaluated at arbitrary inputs."""
    error: float
    """The error of the predictions, relative to the largest one."""
    joint: Callable[[Float[Tensor, "k d"]], Joint] | None = None
    respond: Callable[[Float[Tensor, "*s c"]], Float[Tensor, "*s o"]] | None = None
    """E[y|f], for values of all latent functions."""
    mixes: bool = False
    """Whether an output depends on several latent functions."""
    reason: str = ""
    """Why there are no predictions, or no joint distribution."""

    def in_blocks(self, X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        """Predictions at many inputs."""
        assert self.predict is not None
        return torch.cat([self.predict(rows) for rows in X.split(BLOCK)])

    def smooth_joint(self, X: Float[Tensor, "k d"]) -> Joint:
        """The joint distribution without the jitter that a host adds to its diagonal: every input twice."""
        assert self.joint is not None
        k, twice = len(X), self.joint(torch.cat([X, X]))
        S = twice.covariance[:, :k, k:]
        return Joint(twice.mean[:, :k], (S + S.mT) / 2)


def host_of(model: Any, likelihood: Any) -> Host:
    """The host of a model, by the library that its class comes from."""
    roots = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    native = isinstance(model, FittedEstimator | Process)
    name = NATIVE if native else next((MAKERS[root] for root in MAKERS if root in roots), None)
    if name is None:
        return Host(None, DOUBLE, reason=f"{type(model).__name__} is of no library that gplens can ask")
    return import_module(f"gplens.verification.{name}").host_of(model, likelihood)


def expected_response(
    respond: Callable[[Tensor], Tensor], m: Float[Tensor, "k c"], v: Float[Tensor, "k c"], *, mixes: bool = False
) -> Float[Tensor, "k o"]:
    """E respond(f) for independent f_c ~ N(m_c, v_c): by Gauss-Hermite, or by Sobol points for a response that mixes
    latent functions."""
    sd = v.clamp(min=0).sqrt()  # below zero is rounding
    if mixes:
        return respond(m[:, None] + sd[:, None] * normals(POINTS, m.shape[1])).mean(1)
    z, w = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(NODES))
    values = respond(m[:, None] + sd[:, None] * z[:, None])
    return torch.einsum("q,kqo->ko", w / w.sum(), values)


def normals(count: int, dims: int) -> Float[Tensor, "n l"]:
    """Quasi-random standard normals, the same in every call."""
    uniform = SobolEngine(dims, scramble=True, seed=0).draw(count, dtype=torch.float64)
    return torch.special.ndtri(uniform.clamp(1e-12, 1 - 1e-12))
