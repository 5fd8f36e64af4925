"""GaussianProcessClassifier: Laplace's approximation for each binary problem (MATH 1, last row of the table)."""

from math import ceil, log10
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process._gpc import COEFS, LAMBDAS
from torch import Tensor

from gplens.adapters.reading import Adapted
from gplens.adapters.sklearn.printed import check, check_features, printed
from gplens.adapters.sklearn.prior import inverse, read_prior
from gplens.expectations.elementwise import ExpectedLink, TotalVariance
from gplens.likelihood import Likelihood
from gplens.lines.quadratic import Quadratic
from gplens.links import OneVsRest, ProbitMixture
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

FIVE_ERRORS = ProbitMixture(tuple(COEFS.ravel().tolist()), tuple((1 / (2 * LAMBDAS.ravel() ** 2)).tolist()))
"""The logistic as predict_proba averages it (Williams and Barber), constants of the installed version  (2.13)."""


def read_classifier(model: GaussianProcessClassifier, points: Float[Tensor, "k d"]) -> Adapted:
    """Binary: P(y = classes_[1]). More classes: one-versus-rest, normalised as scikit-learn prints it."""
    if not hasattr(model, "base_estimator_"):
        raise ValueError("The GaussianProcessClassifier was never fitted. Call fit(X, y) first.")
    check_features(model, points)
    if model.n_classes_ == 2:
        return _two_classes(model, model.base_estimator_, points)
    if model.multi_class != "one_vs_rest":
        raise ValueError(
            f"A one_vs_one classifier of {model.n_classes_} classes has no predict_proba, so that there is no number "
            "to explain. Fit it with multi_class='one_vs_rest', or explain what tells one pair of classes apart: "
            "gplens.explain(model.base_estimator_.estimators_[0], X, ...)."
        )
    return _several_classes(model, model.base_estimator_, points)


def read_binary(model: Any, points: Float[Tensor, "k d"]) -> Adapted:
    """One of the binary classifiers that a classifier of several classes is made of."""
    return _two_classes(model, model, points)


def _two_classes(model: Any, binary: Any, points: Float[Tensor, "k d"]) -> Adapted:
    posterior, notes = _read_latent(binary, points)
    p = _probabilities(posterior, points)
    notes = (*notes, _check(model, torch.cat([1 - p, p], dim=1), points), f"the output is P(y = {_names(model)[1]})")
    return Adapted(posterior, "GaussianProcessClassifier", _bernoulli(), notes=notes)


def _several_classes(model: Any, one_vs_rest: Any, points: Float[Tensor, "k d"]) -> Adapted:
    parts = [_read_latent(binary, points) for binary in one_vs_rest.estimators_]
    process, name = Stack(tuple(posterior for posterior, _ in parts)), "GaussianProcessClassifier"
    p = _probabilities(process, points)
    notes = (*dict.fromkeys(sum((own for _, own in parts), ())), _check(model, p / p.sum(1, keepdim=True), points))
    response = OneVsRest(FIVE_ERRORS, _names(model))
    likelihood = Likelihood(f"{name}'s one-versus-rest probabilities", response, latents=len(parts))
    return Adapted(process, name, likelihood, notes=notes)


def _read_latent(model: Any, points: Float[Tensor, "k d"]) -> tuple[Posterior, tuple[str, ...]]:
    """beta = y - pi, A = W^1/2 B^-1 W^1/2 with B = L_ L_': Algorithm 3.2 of Rasmussen and Williams."""
    prior = read_prior(model, points)
    if prior.noise is None:
        raise ValueError(
            "A WhiteKernel is multiplied with a kernel whose variance changes with the input, so that the noise of a "
            "latent value does too, which is not understood. Add the WhiteKernel to the kernel instead."
        )
    beta, root_W = (torch.tensor(np.asarray(a, np.float64)) for a in (model.y_train_ - model.pi_, model.W_sr_))
    A = Quadratic((inverse(model.L_) * root_W)[None], torch.ones(1, len(beta), dtype=beta.dtype))
    posterior = Posterior(prior.kernel, prior.Z, beta, A, jitter=prior.noise)
    host_m, host_v = printed(model.latent_mean_and_variance, model, points)
    worst_m = check("latent mean", posterior.m(points)[:, 0], host_m, host_m.abs().max() + prior.size.sqrt())
    worst_v = check("latent variance", posterior.v(points)[:, 0], host_v, prior.size)
    return posterior, (*prior.notes, f"m and v equal the host's to {_order(worst_m)} and {_order(worst_v)}")


def _probabilities(process: Process, points: Float[Tensor, "k d"]) -> Float[Tensor, "k c"]:
    return FIVE_ERRORS.moments(process.m(points), process.v(points)).value


def _check(model: Any, ours: Float[Tensor, "k c"], points: Float[Tensor, "k d"]) -> str:
    """predict_proba itself, which a subclass may have changed."""
    (host,) = printed(model.predict_proba, model, points)
    worst = check("probability", ours, host, torch.ones(()))
    return f"predict_proba is met to {worst:.1e} at {len(points)} points"


def _bernoulli() -> Likelihood:
    """y is 0 or 1, so that y^2 = y."""
    return Likelihood(
        "GaussianProcessClassifier's five error functions",
        ExpectedLink((FIVE_ERRORS,)),
        TotalVariance((FIVE_ERRORS,), (FIVE_ERRORS,)),
    )


def _names(model: Any) -> tuple[str, ...]:
    """The names of the classes: a text as it is, a number as class 3."""
    return tuple(label if isinstance(label, str) else f"class {label}" for label in model.classes_)


def _order(size: float) -> str:
    """A power of ten that is not smaller, so that classes which agree alike share a note."""
    return f"1e{ceil(log10(max(size, 1e-16)))}"
