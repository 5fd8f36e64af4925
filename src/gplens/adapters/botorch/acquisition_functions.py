"""BoTorch's acquisition functions: psi of the posterior of their models, or their own values through autograd."""

from dataclasses import replace
from typing import Any

import torch
from botorch.acquisition import AcquisitionFunction, FixedFeatureAcquisitionFunction, OneShotAcquisitionFunction
from botorch.models.multitask import MultiTaskGP
from gpytorch import settings
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.botorch.acquisition_values import check_values, model_of, numbers_of
from gplens.adapters.botorch.criteria import Recognised, recognise
from gplens.adapters.botorch.inputs import RoundedInputsError
from gplens.adapters.botorch.models import raw_points
from gplens.adapters.botorch.value_functions import read_values
from gplens.adapters.gpytorch.modules import reference, without_warnings_of_jitter
from gplens.adapters.reading import Reading, check_columns, check_unchanged, read_host, read_model
from gplens.expectations.acquisition import Acquisition
from gplens.expectations.acquisition.outcome_moments import OutcomeMoments
from gplens.expectations.expectation import ExpectedLink
from gplens.likelihood import Likelihood
from gplens.lines.line import Line
from gplens.links import Exp
from gplens.processes.process import Marginals
from gplens.processes.transformed import AffineMap, Transformed

TINY = 1e-30
"""The smallest variance of outcomes that are sampled, where BoTorch has no floor: keeps sqrt(v) differentiable."""
REFUSALS = (TypeError, ValueError)


@read_model.register
def _(acquisition: AcquisitionFunction, points: Float[Tensor, "k d"] | None) -> Reading:
    """psi of the model's posterior for known classes; for others, their own values and autograd gradients.

    An acquisition function that was never evaluated draws its samples here, as in its first evaluation.
    """
    model = model_of(acquisition)
    x = points if points is not None else raw_points(model)
    _check_kind(acquisition, x)
    with torch.no_grad(), without_warnings_of_jitter():
        acquisition(x[:1, None].to(reference(acquisition)))
    recognised = recognise(acquisition)
    try:
        reading = read_host(model, x)
    except RoundedInputsError:
        raise
    except REFUSALS as cause:
        return read_values(acquisition, x, None, f"its model was not read: {cause}")
    if recognised is None:
        return read_values(acquisition, x, reading.process, "its class is known by its values alone")
    try:
        latents = _latents(reading)
    except ValueError as cause:
        return read_values(acquisition, x, reading.process, f"its model has no posterior as a whole: {cause}")
    logarithmic = _logarithmic(reading, latents)
    if recognised.smallest is None and any(logarithmic):
        return read_values(acquisition, x, reading.process, "its outcome transform makes its samples exponentials")
    expectation = _expectation(acquisition, recognised, latents, logarithmic)
    return _of_posterior(acquisition, reading, expectation)


def _check_kind(acquisition: Any, x: Float[Tensor, "k d"]) -> None:
    model = model_of(acquisition)
    inputs = getattr(model, "train_inputs", None)
    if inputs is not None and getattr(model, "input_transform", None) is None:
        first = inputs[0][0] if isinstance(inputs[0], tuple | list) else inputs[0]
        if not isinstance(model, MultiTaskGP) or x.shape[1] != first.shape[-1] - 1:  # of its own task
            check_columns(first.shape[-1], x)
    if isinstance(acquisition, OneShotAcquisitionFunction):
        name = type(acquisition).__name__
        raise ValueError(
            f"expected an acquisition function of candidates alone, got {name}, which is one of candidates and of the "
            "fantasy solutions that were optimised with them. Freeze these: with fantasies of shape (n, d), pass "
            "gplens.Functions(lambda x: acquisition(torch.cat([x[:, None], fantasies.expand(len(x), -1, -1)], 1)), "
            "features=d) and target=gplens.targets.Latent()."
        )


def _latents(reading: Reading) -> Int[Tensor, "o s"]:
    """The latent function of each outcome, for each draw of hyper-parameters."""
    counts = reading.draws or (1,) * reading.process.latents
    draws, first = max(counts), 0
    if any(count not in (1, draws) for count in counts):
        raise ValueError(f"expected as many draws of hyper-parameters for each outcome, got {counts}")
    rows = []
    for count in counts:
        rows.append((first + torch.arange(count)).expand(draws))
        first += count
    return torch.stack(rows)


def _logarithmic(reading: Reading, latents: Int[Tensor, "o s"]) -> tuple[bool, ...]:
    """Whether the latent function is the logarithm of each outcome."""
    assert reading.likelihood is not None
    response = reading.likelihood.response
    assert isinstance(response, ExpectedLink)
    return tuple(response.links[i if len(response.links) > 1 else 0] == Exp() for i in latents[:, 0].tolist())


def _expectation(
    acquisition: Any, recognised: Recognised, latents: Int[Tensor, "o s"], logarithmic: tuple[bool, ...]
) -> Acquisition:
    if recognised.smallest is None:
        smallest, outcome = TINY, TINY
    else:
        smallest = settings.min_variance.value(reference(acquisition.model).dtype) or TINY
        outcome = max(recognised.smallest, 0.0 if any(logarithmic) else smallest)
    moments = OutcomeMoments(logarithmic, smallest, outcome, recognised.weights, recognised.offset)
    return Acquisition(type(acquisition).__name__, recognised.criterion, latents, moments)


def _of_posterior(acquisition: Any, reading: Reading, expectation: Acquisition) -> Reading:
    """The reading of the model, with the acquisition function as its response, compared with the host's values."""
    before, process = numbers_of(acquisition), reading.process

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        check_unchanged(type(acquisition).__name__, before, numbers_of(acquisition))
        notes = reading.compare(points, at)
        return (*notes, check_values(acquisition, expectation, points, at))

    likelihood = Likelihood(repr(expectation), expectation, latents=process.latents)
    return replace(reading, likelihood=likelihood, draws=None, compare=compare, acquisition=expectation.name)


@read_model.register
def _(wrapper: FixedFeatureAcquisitionFunction, points: Float[Tensor, "k d"] | None) -> Reading:
    """The inner function of inputs whose fixed columns are replaced, so that these have attributions of zero.

    Inputs have all d columns, as `optimize_acqf` returns them, or only the free columns, as `forward` takes them.
    """
    acquisition: Any = wrapper
    d, selector = acquisition.d, torch.tensor(acquisition._selector)
    values = acquisition.values.detach().cpu().double()
    free = d - values.shape[-1]
    if values.ndim > 1 and values.flatten(0, -2).unique(dim=0).shape[0] > 1:
        raise ValueError("expected the same fixed values for all candidates, got others for each; fix one set of them.")
    given = d if points is None else points.shape[1]
    if given not in (d, free):
        raise ValueError(f"expected X with {d} columns, or the {free} that are not fixed, got {given} columns.")
    fixed = torch.zeros(d, dtype=torch.float64)
    fixed[selector >= free] = values.reshape(-1, values.shape[-1])[0][selector[selector >= free] - free]
    W = torch.zeros(given, d, dtype=torch.float64)
    kept = (selector < free).nonzero()[:, 0]
    W[kept if given == d else selector[kept], kept] = 1
    affine = AffineMap(W, lambda x: x @ W + fixed)
    inner = read_host(acquisition.acq_func, None if points is None else affine(points))

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        x = affine(points)
        return inner.compare(x, inner.process.along(Line.at(x)))

    return replace(inner, process=Transformed.through(inner.process, affine), compare=compare)
