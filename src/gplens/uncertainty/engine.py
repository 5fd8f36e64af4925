"""The uncertainty of a table of attributions, input by input, at as many nodes as it takes (MATH 5)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.expectations.hyperparameters import HyperparameterAverage
from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.paths.adaptive import Adaptive
from gplens.paths.attribution import Question
from gplens.paths.gradient import rows_within
from gplens.processes.process import Process
from gplens.uncertainty.covariance import covariance
from gplens.uncertainty.draws import check_size, draw, variance
from gplens.uncertainty.latent_paths import PathDraws
from gplens.uncertainty.requests import Full, Samples, Uncertainty
from gplens.uncertainty.total_covariance import of_each_draw, pooled

ORDERS = (4, 5, 7, 10, 15, 22, 31, 47)
"""Gauss nodes that are tried, with their Kronrod extension, until the two agree."""
SHORT = (1.0, 1.4)
"""Lengthscales of paths that begin with the first two, for a tolerance of 1e-6. Recipe: scripts/kronrod_gain.py"""


@final
@dataclass(frozen=True)
class Spread:
    """What was asked for of the posterior distribution of the attributions."""

    std: Float[Tensor, "b o d"]
    std_error: Float[Tensor, "b o d"] | None
    """Monte Carlo error of std, where it is not exact."""
    covariance: Float[Tensor, "b o d d"] | None
    draws: Float[Tensor, "b s o d"] | None
    converged: Bool[Tensor, " b"]


@final
@dataclass(frozen=True)
class Inquiry:
    """Everything but the inputs: whose uncertainty, of what, in which form, how exactly."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    request: Uncertainty
    tolerance: float
    memory: int
    """Bytes that temporaries may take."""

    def check(self) -> None:
        """Refuse what cannot be had, before anything is computed."""
        if isinstance(self.expectation, HyperparameterAverage):
            self._of_each_draw(self.expectation).check()
            return
        latents, features = self.process.latents, self.process.features
        zero = torch.zeros(latents, 1, dtype=torch.float64)
        self.expectation.slopes(zero[None], zero, self.outputs)
        if isinstance(self.request, Full) and not self.closed:
            raise ValueError(
                f"The covariance of attributions has no closed form for {self.expectation!r}; Full(), and groups=, are "
                "for outputs with a smooth link of their own. Use Diagonal() for standard deviations, or "
                "Samples(count, seed), whose draws are joint."
            )
        if isinstance(self.request, Samples) and self.request.joint:
            check_size(len(self.outputs) if self.together else 1, features)

    def answer(self, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"], values: Float[Tensor, "b o d"]) -> Spread:
        """Blocks of inputs whose paths are about as long, and the draws of one input after the other."""
        if isinstance(self.expectation, HyperparameterAverage):
            return self._total(self.expectation, x, x0)
        origins = x0.expand_as(x)
        found = _exact(self, x, x0, values) if self.closed else _by_draws(self, x, origins, values)
        if not isinstance(self.request, Samples) or found.spread.draws is not None:
            return found.spread
        draws = [self._draws(self.request, x[i], origins[i], int(found.order[i]), i) for i in range(len(x))]
        return replace(found.spread, draws=torch.stack(draws))

    def _of_each_draw(self, mixture: HyperparameterAverage) -> "Inquiry":
        """The same of all that is averaged, with a share of the samples for each."""
        share = of_each_draw(self.request, mixture.draws)
        return replace(self, expectation=mixture.each, outputs=mixture.latents_of(self.outputs), request=share)

    def _total(self, mixture: HyperparameterAverage, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"]) -> Spread:
        """Every draw with values and a spread of its own, then the law of total covariance  (5.17)."""
        each, draws = self._of_each_draw(mixture), tuple(mixture.draws[output] for output in self.outputs)
        alone = Question(self.process, each.expectation, each.outputs, Adaptive(), self.tolerance, self.memory)
        values = alone.answer(x, x0[:, None]).integral.values
        return pooled(each.answer(x, x0, values), values, draws, self.request)

    @cached_property
    def links(self) -> tuple[Link | None, ...]:
        """Those of the outputs that depend on one latent function each."""
        return tuple(self.expectation.link_of(output) for output in self.outputs)

    @property
    def closed(self) -> bool:
        """Whether each output has a link of its own, whose covariances are exact."""
        return all(link is not None and link.has_pair_moments for link in self.links)

    @property
    def together(self) -> bool:
        """Whether the outputs share latent functions, so that they are drawn together."""
        return self.process.sources() is not None or None in self.links

    @property
    def gaussian(self) -> bool:
        """Whether the attributions are linear in the latent functions, and so Gaussian."""
        return all(link is not None and not link.needs_variance for link in self.links)

    def orders(self, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"]) -> Int[Tensor, " b"]:
        """Where to begin in ORDERS: the first two for short paths, then three Kronrod nodes for a lengthscale."""
        length = self.process.length(Line(x0, x - x0, x.new_zeros(len(x), 0)))
        short = [reach * (self.tolerance / 1e-6) ** (0.5 / order) for order, reach in zip(ORDERS, SHORT, strict=False)]
        return torch.bucketize(length, length.new_tensor(short + [(2 * order + 1) / 3 for order in ORDERS[2:-1]]))

    def paths(self, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], order: int, *, full: bool) -> PathDraws:
        """The latent functions of all outputs together, on one path."""
        return PathDraws.on(self.process, self.expectation, self.outputs, x0, x, order, full=full)

    def _draws(self, request: Samples, x: Tensor, x0: Tensor, order: int, row: int) -> Float[Tensor, "s o d"]:
        """The draws of one input, those of outputs that share no latent function one by one."""
        if self.together:
            return draw(self.paths(x, x0, order, full=request.joint), request, row)
        own = [(o, link) for o, link in zip(self.outputs, self.links, strict=True) if link is not None]
        alone = [(o, PathDraws.alone(self.process, o, link, x0, x, order, full=request.joint)) for o, link in own]
        return torch.cat([draw(paths, request, row, output) for output, paths in alone], dim=1)


@final
@dataclass(frozen=True)
class _Found:
    spread: Spread
    order: Int[Tensor, " b"]
    """Kronrod's order at which each path was settled."""


def _exact(
    inquiry: Inquiry, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"], attributions: Float[Tensor, "b o d"]
) -> _Found:
    """Covariances, or variances, with more nodes for the paths that need them."""
    full = inquiry.request.covariances
    shape = (len(x), len(inquiry.outputs), *x.shape[1:] * (2 if full else 1))
    values, converged, level = x.new_empty(shape), torch.zeros(len(x), dtype=torch.bool), inquiry.orders(x, x0)
    for i, order in enumerate(ORDERS):
        for rows in _blocks(inquiry, ~converged & (level <= i), order):
            origins = x0 if len(x0) == 1 else x0[rows]
            found, error = _covariances(inquiry, x[rows], origins, attributions[rows], order, full=full)
            values[rows], converged[rows] = found, _small(error, found, inquiry.tolerance)
            level[rows] = i
    variances = values.diagonal(dim1=2, dim2=3) if full else values
    spread = Spread(_root(variances), None, values if full else None, None, converged)
    return _Found(spread, torch.tensor(ORDERS)[level])


def _blocks(inquiry: Inquiry, pending: Bool[Tensor, " b"], order: int) -> tuple[Int[Tensor, " r"], ...]:
    """The pending rows in blocks whose temporaries fit into the memory."""
    q, d = 2 * order + 1, inquiry.process.features
    floats = q * inquiry.process.floats(q, 1) + 8 * q**2 * d
    rows = pending.nonzero()[:, 0]
    return rows.split(rows_within(inquiry.memory, floats)) if len(rows) else ()


def _covariances(
    inquiry: Inquiry,
    x: Float[Tensor, "b d"],
    x0: Float[Tensor, "#b d"],
    attributions: Float[Tensor, "b o d"],
    order: int,
    *,
    full: bool,
) -> tuple[Float[Tensor, "b o d *d"], Float[Tensor, "b o d *d"]]:
    own = zip(inquiry.outputs, inquiry.links, attributions.unbind(1), strict=True)
    process = inquiry.process
    each = [covariance(process, i, link, x0, x, IG, order, full=full) for i, link, IG in own if link is not None]
    values, errors = zip(*each, strict=True)
    return torch.stack(values, dim=1), torch.stack(errors, dim=1)


def _small(error: Float[Tensor, "b o *e"], found: Float[Tensor, "b o *e"], tolerance: float) -> Bool[Tensor, " b"]:
    """For each output relative to its largest variance."""
    return (error.flatten(2).amax(2) <= tolerance * found.flatten(2).abs().amax(2)).all(1)


def _by_draws(
    inquiry: Inquiry, x: Float[Tensor, "b d"], x0: Float[Tensor, "b d"], values: Float[Tensor, "b o d"]
) -> _Found:
    """Deviations of outputs of several latent functions, one input after the other."""
    level, rows, draws = inquiry.orders(x, x0), [], []
    for i in range(len(x)):
        while True:
            order = ORDERS[int(level[i])]
            found = _deviations(inquiry, x[i], x0[i], values[i], order)
            if found.settled or order == ORDERS[-1]:
                break
            level[i] += 1
        rows.append(replace(found, paths=None))
        request = inquiry.request
        if isinstance(request, Samples) and not request.joint and inquiry.together and found.paths is not None:
            draws.append(draw(found.paths, request, i))  # from what is there already
    std, std_error = torch.stack([row.std for row in rows]), torch.stack([row.std_error for row in rows])
    settled = torch.tensor([row.settled for row in rows])
    return _Found(
        Spread(std, std_error, None, torch.stack(draws) if draws else None, settled), torch.tensor(ORDERS)[level]
    )


@final
@dataclass(frozen=True)
class _Deviations:
    paths: PathDraws | None
    """What they were computed from."""
    std: Float[Tensor, "o d"]
    std_error: Float[Tensor, "o d"]
    settled: bool
    """Whether more nodes would change the deviations by less than more draws would."""


def _deviations(
    inquiry: Inquiry, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], values: Float[Tensor, "o d"], order: int
) -> _Deviations:
    paths = inquiry.paths(x, x0, order, full=False)
    std, std_error, change = variance(paths, values, seed=0)  # one seed for all inputs: whatever their order
    limit = torch.maximum(std_error.amax(1), inquiry.tolerance * std.amax(1))
    return _Deviations(paths, std, std_error, bool((change.amax(1) <= limit).all()))


def _root(variances: Float[Tensor, "b o d"]) -> Float[Tensor, "b o d"]:
    """The square root, after rounding below zero is taken away."""
    return variances.clamp(min=0).sqrt()
