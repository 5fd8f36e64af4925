"""GaussianProcessClassifier: Laplace's approximation for each binary problem (MATH 1, last row of the table)."""

from functools import partial
from math import ceil, log10
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process._gpc import COEFS, LAMBDAS, _BinaryGaussianProcessClassifierLaplace
from torch import Tensor

from gplens.adapters.estimators import class_names, output_names, single_output_note
from gplens.adapters.reading import Reading, read_model
from gplens.adapters.sklearn.changes import noticing_changes
from gplens.adapters.sklearn.predictions import check_fitted_columns, columns_of, compare, predict
from gplens.adapters.sklearn.prior import Prior, inverse, read_prior
from gplens.adapters.support_points import beside_support
from gplens.expectations.expectation import ExpectedLink
from gplens.expectations.variances import TotalVariance
from gplens.likelihood import Likelihood
from gplens.lines.forms import Quadratic
from gplens.links import OneVsRest, ProbitMixture
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals
from gplens.processes.stack import Stack

FIVE_ERRORS = ProbitMixture(tuple(COEFS.ravel().tolist()), tuple((1 / (2 * LAMBDAS.ravel() ** 2)).tolist()))
"""The logistic as predict_proba approximates it (Williams and Barber), constants of the installed version  (2.13)."""
Latent = tuple[Posterior, Prior]


@read_model.register
def _(model: GaussianProcessClassifier, points: Float[Tensor, "k d"] | None) -> Reading:
    """P(y = classes_[1]) for two classes; one-versus-rest, normalised as in predict_proba, for more."""
    if not hasattr(model, "base_estimator_"):
        raise ValueError("expected a fitted GaussianProcessClassifier, got one without classes; call fit(X, y) first.")
    check_fitted_columns(model, points)
    if model.n_classes_ > 2 and model.multi_class != "one_vs_rest":
        raise ValueError(
            f"expected multi_class='one_vs_rest' for {model.n_classes_} classes, got 'one_vs_one', which has no "
            "predict_proba to explain; fit it with the former, or explain what tells one pair of classes apart: "
            "gplens.explain(model.base_estimator_.estimators_[0], X, ...)."
        )
    return _read(model, points)


@read_model.register
def _(model: _BinaryGaussianProcessClassifierLaplace, points: Float[Tensor, "k d"] | None) -> Reading:
    """One of the binary classifiers that a classifier of several classes is made of."""
    return _read(model, points)


def _read(model: Any, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read the latent functions; `compare` evaluates latent values and probabilities of the live model."""
    latents, names = tuple(_read_latent(binary, points) for binary in _binary(model)), class_names(model.classes_)
    outputs = output_names(names, len(latents))
    notes = tuple(dict.fromkeys(note for _, prior in latents for note in prior.notes))
    single = len(latents) == 1
    process = latents[0][0] if single else Stack(tuple(posterior for posterior, _ in latents))
    compare_live = beside_support(process, partial(_compare_live, model, latents, names))
    return Reading(
        process,
        "GaussianProcessClassifier",
        _two_classes(outputs) if single else _one_versus_rest(outputs),
        notes=(*notes, *single_output_note(outputs)),
        columns=columns_of(model),
        compare=noticing_changes(compare_live, *_binary(model), model),
    )


def _binary(model: Any) -> list[Any]:
    """The fitted binary classifiers, one for each latent function."""
    base = getattr(model, "base_estimator_", model)
    return list(getattr(base, "estimators_", [base]))


def _read_latent(model: Any, points: Float[Tensor, "k d"] | None) -> Latent:
    """beta = y - pi, A = W^1/2 B^-1 W^1/2 with B = L_ L_': Algorithm 3.2 of Rasmussen and Williams."""
    prior = read_prior(model, points)
    if prior.noise is None:
        raise ValueError(
            "expected a WhiteKernel with the same variance everywhere, got one that is multiplied with a kernel whose "
            "variance changes with the input; add the WhiteKernel to the kernel instead."
        )
    beta, root_W = (torch.tensor(np.asarray(a, np.float64)) for a in (model.y_train_ - model.pi_, model.W_sr_))
    A = Quadratic((inverse(model.L_) * root_W)[None], torch.ones(1, len(beta), dtype=beta.dtype))
    return Posterior(prior.kernel, prior.Z, beta, A, jitter=prior.noise), prior


def _compare_live(
    model: Any, latents: tuple[Latent, ...], names: tuple[str, ...], points: Float[Tensor, "k d"], at: Marginals
) -> tuple[str, ...]:
    """Compare latent means and variances of every binary classifier, and predict_proba, which a subclass may change."""
    binary, now = _binary(model), class_names(model.classes_)
    if len(binary) != len(latents) or now != names:
        raise ValueError(f"expected a classifier of {list(names)}, got one of {list(now)}.")
    notes, columns = [], []
    for i, ((_, prior), classifier) in enumerate(zip(latents, binary, strict=True)):
        m, v = at.m[:, i, 0], at.v[:, i, 0]
        host_m, host_v = predict(classifier.latent_mean_and_variance, classifier, points)
        worst_m = compare("latent mean", m, host_m, host_m.abs().max() + prior.size.sqrt())
        worst_v = compare("latent variance", v, host_v, prior.size)
        notes.append(f"m and v equal the host's to {_order(worst_m)} and {_order(worst_v)}")
        columns.append(FIVE_ERRORS.moments(m, v).value)
    p = torch.stack([1 - columns[0], columns[0]] if len(columns) == 1 else columns, dim=1)
    (host,) = predict(model.predict_proba, model, points)
    worst = compare("probability", p / p.sum(1, keepdim=True), host, torch.ones(()))
    return *dict.fromkeys(notes), f"predict_proba is met to {worst:.1e} at {len(points)} points"


def _two_classes(outputs: tuple[str, ...]) -> Likelihood:
    """y is 0 or 1, so that y^2 = y."""
    name, response = "GaussianProcessClassifier's five error functions", ExpectedLink((FIVE_ERRORS,))
    return Likelihood(name, response, TotalVariance((FIVE_ERRORS,), (FIVE_ERRORS,)), outputs=outputs)


def _one_versus_rest(outputs: tuple[str, ...]) -> Likelihood:
    name = "GaussianProcessClassifier's one-versus-rest probabilities"
    return Likelihood(name, OneVsRest(FIVE_ERRORS, outputs), latents=len(outputs), outputs=outputs)


def _order(size: float) -> str:
    """The next larger power of ten, so that classes with similar agreement share a note."""
    return f"1e{ceil(log10(max(size, 1e-16)))}"
