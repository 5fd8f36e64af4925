"""The spread for explain(): of plain outputs, or of averages over draws of hyper-parameters (MATH 5.17)."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import HyperparameterDraws
from gplens.expectations.hyperparameters import averages
from gplens.explanation.spread import Spread
from gplens.lines.units import power_of_two, quotient
from gplens.paths.attribute import Adaptive, attribute
from gplens.paths.integrand import Question
from gplens.uncertainty.requests import Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion


def check_request(question: Question, request: Uncertainty) -> None:
    """Refuse a request that cannot be computed, before anything is computed."""
    draws = question.expectation.draws_of(question.outputs)
    asked = SpreadQuestion(question, request) if draws is None else of_every_draw(question, request, draws)
    asked.check()


def spread_of(
    question: Question,
    request: Uncertainty,
    x: Float[Tensor, "b d"],
    x0: Float[Tensor, "#b d"],
    values: Float[Tensor, "b o d"],
) -> Spread:
    """The spread of the attributions `values`, with an axis of outputs."""
    draws = question.expectation.draws_of(question.outputs)
    if draws is None:
        return SpreadQuestion(question, request).answer(x, x0, values)
    every_draw = of_every_draw(question, request, draws)
    draw_values = attribute(every_draw.question, Adaptive(), x, x0[:, None]).integral.values
    return pooled(every_draw.answer(x, x0, draw_values), draw_values, draws.counts, request)


def of_every_draw(question: Question, request: Uncertainty, draws: HyperparameterDraws) -> SpreadQuestion:
    """The same question for every draw of the hyper-parameters, with a share of the samples for each."""
    if isinstance(request, Samples):
        request = replace(request, count=max(2, -(-request.count // min(draws.counts))))
    return SpreadQuestion(replace(question, expectation=draws.expectation, outputs=draws.outputs), request)


def pooled(spread: Spread, values: Float[Tensor, "b c d"], counts: tuple[int, ...], request: Uncertainty) -> Spread:
    """Cov(IG) = 1/S sum_s Cov_s + 1/S sum_s (IG_s - IG)(IG_s - IG)'  (5.17), from the spread of every draw."""
    assert spread.std is not None
    M = averages(counts, tuple(range(len(counts))), values)
    deviation = values - (M @ values).repeat_interleave(torch.tensor(counts), 1)
    unit = power_of_two(torch.maximum(spread.std, deviation.abs()).amax((1, 2), keepdim=True))  # squares may underflow
    scaled = (M @ ((spread.std / unit) ** 2 + (deviation / unit) ** 2)).sqrt()
    std, error, covariance, samples = unit * scaled, spread.std_error, spread.covariance, spread.draws
    if error is not None:
        pooled = (M**2 @ ((spread.std / unit) * (error / unit)) ** 2).sqrt()
        error = unit * torch.where(scaled > 0, pooled / scaled, 0.0)
    quadrature = spread.error
    if quadrature is not None:  # s times the error of s, for each draw
        pooled = M @ ((spread.std + quadrature) / unit * (quadrature / unit))
        quadrature = unit * quotient(pooled, scaled)
    if covariance is not None:
        covariance = torch.einsum("oc,bckl->bokl", M, covariance + deviation[..., None] * deviation[..., None, :])
    if samples is not None and isinstance(request, Samples):
        by_output = samples.split(list(counts), dim=2)
        samples = torch.stack([part.flatten(1, 2)[:, : request.count] for part in by_output], dim=2)
    return replace(
        spread, std=std, std_error=error, error=quadrature, covariance=covariance, draws=samples, gaussian=False
    )
