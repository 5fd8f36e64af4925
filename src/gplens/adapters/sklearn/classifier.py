"""GaussianProcessClassifier: Laplace's approximation for each binary problem (MATH 1, last row of the table)."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process._gpc import COEFS, LAMBDAS
from torch import Tensor

from gplens.adapters.registry import Adapted
from gplens.adapters.sklearn.printed import check, check_features, printed
from gplens.adapters.sklearn.prior import inverse, read_prior
from gplens.functionals import Expectation, TotalVariance
from gplens.likelihood import Likelihood
from gplens.links import OneVsRest, ProbitMixture
from gplens.posterior import Posterior
from gplens.process import Stack
from gplens.quadratic import Quadratic

FIVE_ERRORS = ProbitMixture(tuple(COEFS.ravel().tolist()), tuple((1 / (2 * LAMBDAS.ravel() ** 2)).tolist()))
"""The logistic as predict_proba averages it (Williams and Barber), constants of the installed version  (2.13)."""


def read_classifier(model: GaussianProcessClassifier, points: Float[Tensor, "k d"]) -> Adapted:
    """Binary: P(y = classes_[1]). More classes: one-versus-rest, normalised as scikit-learn prints it."""
    if not hasattr(model, "base_estimator_"):
        raise ValueError("The GaussianProcessClassifier was never fitted. Call fit(X, y) first.")
    check_features(model, points)
    if model.n_classes_ == 2:
        return read_binary(model.base_estimator_, points)
    if model.multi_class != "one_vs_rest":
        raise ValueError(
            f"A one_vs_one classifier of {model.n_classes_} classes has no predict_proba, so that there is no number "
            "to explain. Fit it with multi_class='one_vs_rest', or explain what tells one pair of classes apart: "
            "gplens.explain(model.base_estimator_.estimators_[0], X, ...)."
        )
    base: Any = model.base_estimator_
    parts = [read_binary(estimator, points) for estimator in base.estimators_]
    response = OneVsRest(FIVE_ERRORS, tuple(_label(label) for label in model.classes_))
    process, name = Stack(tuple(part.process for part in parts)), type(model).__name__
    (host,) = printed(model.predict_proba, model, points)
    p = FIVE_ERRORS.moments(process.m(points), process.v(points)).value
    worst = check("probability", p / p.sum(1, keepdim=True), host, torch.tensor(1.0))
    notes = tuple(dict.fromkeys(sum((part.notes[:-2] for part in parts), ())))  # without those of one classifier alone
    likelihood = Likelihood(f"{name}'s one-versus-rest probabilities", response, latents=len(parts))
    return Adapted(process, name, likelihood, notes=(*notes, f"predict_proba is met to {worst:.1e}"))


def read_binary(model: Any, points: Float[Tensor, "k d"]) -> Adapted:
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
    notes = (
        *prior.notes,
        f"m and v equal the host's to {worst_m:.1e} and {worst_v:.1e} at {len(points)} points",
        f"the output is P(y = {_label(model.classes_[1])})",
    )
    return Adapted(posterior, "GaussianProcessClassifier", _bernoulli(), notes=notes)


def _bernoulli() -> Likelihood:
    """y is 0 or 1, so that y^2 = y."""
    return Likelihood(
        "GaussianProcessClassifier's five error functions",
        Expectation((FIVE_ERRORS,)),
        TotalVariance((FIVE_ERRORS,), (FIVE_ERRORS,)),
    )


def _label(label: Any) -> str:
    """The name of a class: a text as it is, a number as class 3."""
    return label if isinstance(label, str) else f"class {label}"
