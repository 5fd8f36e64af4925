"""Objects of gplens itself: a Posterior by its dense formulas, two functions, estimators by their GPyTorch model."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.estimators import FittedEstimator
from gplens.expectations.link import Link
from gplens.processes.functions import Functions
from gplens.processes.posterior import Posterior
from gplens.verification.host import DOUBLE, Host, Joint, expected_response


def host_of(model: Any, likelihood: Any) -> Host:
    """The host of an estimator, a Posterior or Functions."""
    if isinstance(model, FittedEstimator):
        from gplens.verification.gpytorch_host import host_of as gpytorch_host_of

        return gpytorch_host_of(model.model_, model.likelihood_)
    respond = _respond(likelihood)
    if respond is None:
        return Host(None, DOUBLE, reason=f"E[y|f] of {likelihood!r} is not known beside its expectations")
    if isinstance(model, Functions):
        return Host(_of_functions(model, respond), DOUBLE, reason="two functions have no joint distribution")
    if isinstance(model, Posterior):
        return Host(_of_joint(model, respond), DOUBLE, lambda X: _dense(model, X), respond)
    return Host(None, DOUBLE, reason=f"a {type(model).__name__} has no predictions of its own")


def _respond(likelihood: Any) -> Callable[[Tensor], Tensor] | None:
    """E[y|f] of a link, or of a likelihood of GPyTorch; None for other objects."""
    if isinstance(likelihood, Link):
        return likelihood
    if isinstance(likelihood, torch.nn.Module):
        from gplens.verification.gpytorch_host import response_given

        return lambda f: response_given(likelihood, f)
    return None


def _dense(model: Posterior, X: Float[Tensor, "k d"]) -> Joint:
    """mu + k(X, Z) beta and k(X, X) - k(X, Z) A k(Z, X)  (1.1), (1.3)."""
    K, means = model.kernel(X, model.Z), torch.stack([mean(X) for mean in model.means])
    W = model.A.F @ K.T  # A = F' diag(s) F
    S = model.kernel(X, X) - (W.mT * model.A.s[:, None]) @ W
    return Joint(means + model.beta @ K.T, S.expand(len(means), -1, -1))


def _of_joint(model: Posterior, respond: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def predict(X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        joint = _dense(model, X)
        v = joint.covariance.diagonal(dim1=1, dim2=2) + model.jitter
        return expected_response(respond, joint.mean.T, v.T)

    return predict


def _of_functions(model: Functions, respond: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    def predict(X: Float[Tensor, "k d"]) -> Float[Tensor, "k o"]:
        m = model.values("mean", X)
        v = torch.zeros_like(m) if model.variance is None else model.values("variance", X)
        return expected_response(respond, m, v)

    return predict
