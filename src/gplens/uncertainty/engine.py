"""The uncertainty of a table of attributions, input by input, at as many nodes as it takes (MATH 5)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.functional import Functional
from gplens.line import Line
from gplens.process import Process
from gplens.uncertainty.covariance import covariance
from gplens.uncertainty.draws import check_size, draw, variance
from gplens.uncertainty.paths import PathDraws
from gplens.uncertainty.requests import Full, Samples, Uncertainty

ORDERS = (8, 12, 18, 27, 40, 60)
"""Nodes of the path that are tried until two in a row agree."""


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


def spread(
    process: Process,
    functional: Functional,
    outputs: tuple[int, ...],
    x: Float[Tensor, "b d"],
    x0: Float[Tensor, "#b d"],
    values: Float[Tensor, "b o d"],
    request: Uncertainty,
    tolerance: float,
) -> Spread:
    """One input after the other: their paths have nothing in common."""
    origins = x0.expand_as(x)
    question = _Question(process, functional, outputs, request, tolerance)
    rows = [question.answer(x[i], origins[i], values[i], i) for i in range(len(x))]
    return Spread(
        torch.stack([row.std[0] for row in rows]),
        _stacked([row.std_error for row in rows]),
        _stacked([row.covariance for row in rows]),
        _stacked([row.draws for row in rows]),
        torch.cat([row.converged for row in rows]),
    )


def check_request(
    functional: Functional, latents: int, features: int, outputs: tuple[int, ...], request: Uncertainty
) -> None:
    """Refuse what cannot be had, before anything is computed."""
    functional.slopes(torch.zeros(1, latents, 1).double(), torch.zeros(latents, 1).double(), outputs)
    if isinstance(request, Full) and functional.link_of(outputs[0]) is None:
        raise ValueError(
            "The covariance of class probabilities has no closed form; Full(), and groups=, are for outputs with a "
            "link of their own. Use Diagonal() for standard deviations, or Samples(count, seed), whose draws are joint."
        )
    if isinstance(request, Samples) and request.joint:
        check_size(len(outputs), features)


def _stacked(rows: list[Tensor | None]) -> Tensor | None:
    tensors = [row for row in rows if row is not None]
    return torch.cat(tensors) if tensors else None


@final
@dataclass(frozen=True)
class _Question:
    process: Process
    functional: Functional
    outputs: tuple[int, ...]
    request: Uncertainty
    tolerance: float

    def answer(self, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], values: Float[Tensor, "o d"], row: int) -> Spread:
        """Exact covariances where every output has a link of its own; draws of paths where it has not."""
        full = self.request.covariances
        start = self._first_order(x, x0)
        if self.functional.link_of(self.outputs[0]) is not None:
            found, order, converged = self._refine(lambda order: self._exact(x, x0, order, full=full), start)
            matrix, std_error = found if full else None, None
            variances = found.diagonal(dim1=1, dim2=2) if full else found
            std = _root(variances)
        else:
            order, converged, matrix = max(start, 16), torch.tensor([True]), None
            paths = PathDraws.on(self.process, self.functional, self.outputs, x0, x, order, full=False)
            std, std_error = variance(paths, values, seed=0)  # one for all inputs: whatever their order
        draws = self._draws(x, x0, order, row) if isinstance(self.request, Samples) else None
        return Spread(std[None], None if std_error is None else std_error[None], _first(matrix), draws, converged)

    def _exact(
        self, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], order: int, *, full: bool
    ) -> Float[Tensor, "o d *d"]:
        links = [(output, self.functional.link_of(output)) for output in self.outputs]
        return torch.stack(
            [covariance(self.process, i, link, x0, x, order, full=full) for i, link in links if link is not None]
        )

    def _refine(self, function: Callable[[int], Tensor], start: int) -> tuple[Tensor, int, Bool[Tensor, "1"]]:
        """More nodes until two orders in a row agree, for each output relative to its largest variance."""
        orders = [order for order in ORDERS if order >= start]
        orders = orders if len(orders) > 1 else [start, 3 * start // 2]
        found = function(orders[0])
        for order in orders[1:]:
            before, found = found, function(order)
            if _agree(before.flatten(1), found.flatten(1), self.tolerance):
                return found, order, torch.tensor([True])
        return found, orders[-1], torch.tensor([False])

    def _first_order(self, x: Float[Tensor, " d"], x0: Float[Tensor, " d"]) -> int:
        """Three nodes for a lengthscale."""
        line = Line(x0[None], (x - x0)[None], x.new_zeros(1, 0))
        return max(ORDERS[0], int(3 * float(self.process.length(line))))

    def _draws(self, x: Tensor, x0: Tensor, order: int, row: int) -> Float[Tensor, "1 s o d"]:
        assert isinstance(self.request, Samples)
        paths = PathDraws.on(self.process, self.functional, self.outputs, x0, x, order, full=self.request.joint)
        return draw(paths, self.request, row)[None]


def _agree(before: Float[Tensor, "o e"], found: Float[Tensor, "o e"], tolerance: float) -> bool:
    return bool(((found - before).abs().amax(1) <= tolerance * found.abs().amax(1)).all())


def _root(variances: Float[Tensor, "o d"]) -> Float[Tensor, "o d"]:
    """The square root, after rounding below zero is taken away."""
    return variances.clamp(min=0).sqrt()


def _first(matrix: Tensor | None) -> Tensor | None:
    return None if matrix is None else matrix[None]
