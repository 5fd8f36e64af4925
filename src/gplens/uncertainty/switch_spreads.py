"""The spread of attributions of paths that change categories: exact if linear in f, else by draws (MATH 10.4)."""

from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.lines.switches import Switches
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question
from gplens.uncertainty.answers import of_every_draw
from gplens.uncertainty.requests import Full, Samples, Uncertainty
from gplens.uncertainty.row_spreads import spread_row_by_row
from gplens.uncertainty.spreads import SpreadQuestion
from gplens.uncertainty.switch_draws import SwitchDraws
from gplens.uncertainty.switch_nodes import SwitchNodes

LEVELS = ((7, 1), (10, 1), (15, 1), (22, 1), (22, 2), (22, 4))
"""Orders of the Gauss-Kronrod rule and numbers of parts of a panel, tried until the deviations have converged. Orders
help with smooth kernels, parts with rough ones."""
COUNT = 4096
"""Draws for standard deviations alone: their Monte Carlo error is 1.1 % for a Gaussian."""


def check_switch_request(question: Question, request: Uncertainty) -> None:
    """Refuse a request that cannot be computed, before anything is computed."""
    draws = question.expectation.draws_of(question.outputs)
    asked = SpreadQuestion(question, request) if draws is None else of_every_draw(question, request, draws)
    asked.question.expectation.slopes(*_nowhere(asked.question), asked.question.outputs)
    if isinstance(request, Full) and not asked.gaussian:
        raise ValueError(
            "expected a target that is linear in the latent function for Full() on paths that change categories, got "
            f"{question.expectation!r}, whose covariances have no closed form there. Use Diagonal() for standard "
            "deviations, or Samples(count, seed), whose draws are joint."
        )


def _nowhere(question: Question) -> tuple[Tensor, Tensor]:
    zero = torch.zeros(question.process.latents, 1, dtype=torch.float64)
    return zero[None], zero


def spread_of_switches(
    question: Question,
    request: Uncertainty,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    background: Background,
) -> Spread:
    """The spread of the attributions `values`, or of their sums over the sets of the background, input by input."""
    return spread_row_by_row(question, request, x, baselines, values, background, partial(_row, background))


def _row(
    background: Background,
    asked: SpreadQuestion,
    x: Float[Tensor, " d"],
    baselines: Float[Tensor, "s d"],
    shares: Float[Tensor, " s"],
    values: Float[Tensor, "o d"],
) -> Spread:
    """The spread, with more nodes until the coarser rule gives the same deviations."""
    assert isinstance(asked.question.switches, Switches)
    spread = None
    for level in LEVELS:
        nodes = SwitchNodes.on(asked.question.process, asked.question.switches, x, baselines, shares, *level)
        if spread is not None and nodes.size > SwitchDraws.most(linear=asked.gaussian):
            break  # the last result is reported, converged or not
        drawn = SwitchDraws.of(asked.question, nodes, linear=asked.gaussian)
        spread = _exact(asked, drawn, values, background) if asked.gaussian else _drawn(asked, drawn, background)
        if spread.converged is not None and bool(spread.converged.all()):
            break
    assert spread is not None
    return spread


def _exact(asked: SpreadQuestion, drawn: SwitchDraws, values: Float[Tensor, "o d"], background: Background) -> Spread:
    """The covariance of linear functions of f."""
    sums = background.summed(torch.eye(values.shape[1], dtype=values.dtype))
    covariance, coarse = (sums.T @ part @ sums for part in drawn.covariances())
    std, rough = (part.diagonal(dim1=1, dim2=2).clamp(min=0).sqrt() for part in (covariance, coarse))  # rounding
    error = (std - rough).abs()
    settled = bool((error.amax(1) <= asked.request.accuracy * std.amax(1)).all())
    draws = None
    if isinstance(asked.request, Samples):
        size, vectors = torch.linalg.eigh(covariance)
        root = vectors * size.clamp(min=0).sqrt()[:, None]  # semi-definite: below zero is rounding
        generator = torch.Generator().manual_seed(asked.request.seed)
        normals = torch.randn(asked.request.count, *std.shape, generator=generator, dtype=std.dtype)
        draws = background.summed(values) + torch.einsum("okr,sor->sok", root, normals)
    return Spread(
        std[None],
        error=error[None],
        covariance=covariance[None] if asked.request.covariances else None,
        draws=None if draws is None else draws[None],
        gaussian=True,
        converged=torch.tensor([settled]),
    )


def _drawn(asked: SpreadQuestion, drawn: SwitchDraws, background: Background) -> Spread:
    """Standard deviations of joint draws, with their Monte Carlo error."""
    request = asked.request
    count, seed = (request.count, request.seed) if isinstance(request, Samples) else (COUNT, 0)
    fine, coarse = (background.summed(part) for part in drawn.attributions(count, seed))
    std, rough = fine.std(0), coarse.std(0)
    fourth = ((fine - fine.mean(0)) ** 4).mean(0)
    std_error = torch.where(std > 0, ((fourth - std**4).clamp(min=0) / count).sqrt() / (2 * std), 0.0)
    error = (std - rough).abs()
    limit = torch.maximum(std_error.amax(1), request.accuracy * std.amax(1))
    return Spread(
        std[None],
        std_error[None],
        error[None],
        draws=fine[None] if isinstance(request, Samples) else None,
        converged=(error.amax(1) <= limit).all()[None],
    )
