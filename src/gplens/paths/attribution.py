"""Attributions of a table of inputs: paths in blocks of rows, averaged over the baselines of each input."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.expectations.softmax.sampled import Sampled
from gplens.paths.gradient import PathGradient, rows_within
from gplens.paths.rules import FixedRule, Integral, Rule
from gplens.paths.sampling import answer_by_sampling
from gplens.processes.process import Process

TIGHTEN = 2
"""How often a background is integrated again, more finely, where its average is smaller than its members."""
FEATURES = 10
"""Numbers that a path takes for each feature and output: x - x0, sums of two rules, what is settled, sizes."""
NODES = 48
"""Numbers that the nodes of a path and their weights take: three for each of sixteen nodes."""


@final
@dataclass(frozen=True)
class Attribution:
    """The integrals and what they add up to."""

    integral: Integral
    start: Float[Tensor, "b o"]
    end: Float[Tensor, "b o"]
    standard_error: Float[Tensor, "b o d"] | None = None
    """Of the values, where they are averages over draws."""

    @property
    def gap(self) -> Float[Tensor, "b o"]:
        """sum_k IG_k - (T(x) - T(x0))  (4.4)."""
        return self.integral.values.sum(2) - (self.end - self.start)


@final
@dataclass(frozen=True)
class Question:
    """Everything but the inputs: whose gradient, of what, by which rule, how exactly."""

    process: Process
    expectation: Expectation
    outputs: tuple[int, ...]
    rule: Rule
    tolerance: float
    memory: int
    """Bytes that temporaries may take."""

    def answer(self, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> Attribution:
        """The attributions of all inputs, each the average over its s baselines."""
        if isinstance(self.expectation, Sampled):
            return answer_by_sampling(self, self.expectation, x, baselines)
        return self.integrate(x, baselines)

    def integrate(self, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> Attribution:
        """The same for a target that is a plain function of the marginals."""
        s, d = baselines.shape[1:]
        block = rows_within(self.memory, s * (FEATURES * d * len(self.outputs) + NODES))
        if len(x) <= block:
            return self._average(x, baselines)
        shared = baselines.shape[0] == 1
        starts = [baselines] * -(-len(x) // block) if shared else baselines.split(block)
        return _in_place((self._average(*piece) for piece in zip(x.split(block), starts, strict=True)), len(x))

    def _average(self, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> Attribution:
        s = baselines.shape[1]
        if s == 1:
            return self._paths(x, baselines[:, 0], self.tolerance)
        x0 = baselines.expand(len(x), -1, -1).flatten(0, 1)
        x, tolerance = x.repeat_interleave(s, 0), self.tolerance
        found = _averaged(self._paths(x, x0, tolerance), s)
        for _ in range(TIGHTEN):
            missed = _excess(found, self.tolerance)
            if missed <= 1 or isinstance(self.rule, FixedRule):  # which takes its nodes whatever the tolerance
                break
            tolerance = max(tolerance / (2 * missed), 1e-14)
            found = _averaged(self._paths(x, x0, tolerance), s)
        return _judged(found, self.tolerance)

    def _paths(self, x: Float[Tensor, "b d"], x0: Float[Tensor, "#b d"], tolerance: float) -> Attribution:
        gradient = PathGradient(self.process, self.expectation, self.outputs, x0, x, self.memory)
        return Attribution(self.rule.integrate(gradient, tolerance), gradient.start, gradient.end)


def _in_place(parts: Iterator[Attribution], rows: int) -> Attribution:
    """Blocks of rows, each written to its place as it comes: the result is never there twice."""
    whole, done = None, 0
    for part in parts:
        whole, size = whole or _room(part, rows), len(part.end)
        for there, own in zip(_fields(whole), _fields(part), strict=True):
            there[done : done + size] = own
        done += size
    assert whole is not None
    return whole


def _room(part: Attribution, rows: int) -> Attribution:
    """Like a part, for all of the rows, and still empty."""

    def room(own: Tensor) -> Tensor:
        return own.new_empty(rows, *own.shape[1:])

    own = part.integral
    error, converged = (None if one is None else room(one) for one in (own.error, own.converged))
    return Attribution(Integral(room(own.values), error, room(own.nodes), converged), room(part.start), room(part.end))


def _fields(found: Attribution) -> list[Tensor]:
    own = found.integral
    every = own.values, own.error, own.nodes, own.converged, found.start, found.end
    return [one for one in every if one is not None]


def _averaged(found: Attribution, s: int) -> Attribution:
    """The mean over the s baselines of each input."""

    def mean(tensor: Tensor) -> Tensor:
        return tensor.unflatten(0, (-1, s)).mean(1)

    own = found.integral
    integral = Integral(
        mean(own.values),
        None if own.error is None else mean(own.error),
        own.nodes.unflatten(0, (-1, s)).sum(1),
        None if own.converged is None else own.converged.unflatten(0, (-1, s)).all(1),
    )
    return Attribution(integral, mean(found.start), mean(found.end))


def _excess_of_rows(found: Attribution, tolerance: float) -> Float[Tensor, " b"] | None:
    """The largest error of each input in units of what is allowed, which is relative to the averages (4.8)."""
    own = found.integral
    if own.error is None:
        return None
    scale = torch.maximum((found.end - found.start).abs(), own.values.abs().amax(2))
    return (own.error / (tolerance * scale[..., None])).nan_to_num(nan=0.0, posinf=torch.inf).flatten(1).amax(1)


def _excess(found: Attribution, tolerance: float) -> float:
    rows = _excess_of_rows(found, tolerance)
    return 0.0 if rows is None else float(rows.max())


def _judged(found: Attribution, tolerance: float) -> Attribution:
    """Converged where every path is and the average meets the tolerance too."""
    rows, own = _excess_of_rows(found, tolerance), found.integral
    if rows is None or own.converged is None:
        return found
    integral = Integral(own.values, own.error, own.nodes, own.converged & (rows <= 1))
    return Attribution(integral, found.start, found.end)
