"""A Gaussian process of which only mean(x) and variance(x) are known, as differentiable functions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line, Section, autograd_section
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process

Function = Callable[[Tensor], Tensor]

LOOKS = 64
"""Pieces of a path on which the functions are looked at to find out how often they turn."""
SAME = 1e-8
"""Agreement of a row alone with the same row in a batch, relative to the largest value."""
SLOPE = 1e-4
"""Agreement of a derivative with central differences at a step of 1e-5, relative to the largest of both."""


@final
class Functions(Process):
    """m(x) and v(x) as torch functions of a batch: (b, d) -> (b,), or (b, c) for c outputs. Gradients by autograd.

    Row i of the result must depend on row i of the input alone; explain() checks that, and that autograd's gradient is
    the one that the values have.

    Args:
        mean: m(x) in float64.
        variance: v(x) >= 0; may be left out for targets that do not need it, such as the latent mean.
        features: d.
        outputs: c.
    """

    def __init__(self, mean: Function, variance: Function | None = None, *, features: int, outputs: int = 1) -> None:
        self.mean, self.variance, self.inputs, self.outputs = mean, variance, features, outputs

    @property
    def latents(self) -> int:
        """c."""
        return self.outputs

    @property
    def features(self) -> int:
        """d."""
        return self.inputs

    @property
    def autograd(self) -> bool:
        """Always."""
        return True

    @property
    def smooth(self) -> bool:
        """Not known, and so taken not to be."""
        return False

    def along(self, line: Line) -> "FunctionMarginals":
        """The functions at the nodes of a line."""
        return FunctionMarginals(self, line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Three for each time that a function runs through its whole range: a panel of the path for every turn."""
        t = torch.linspace(0, 1, LOOKS + 1, dtype=line.d.dtype).expand(len(line.d), -1)
        at = self.along(Line(line.x0, line.d, t))
        values = at.m if self.variance is None else torch.cat([at.m, at.v], dim=1)
        variation, spread = values.diff(dim=2).abs().sum(2), values.amax(2) - values.amin(2)
        return 3 * torch.where(spread > 0, variation / spread, 0).amax(1)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """Refused: two functions of one input do not tell how two inputs covary."""
        _refuse_uncertainty()

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """Refused, as pairs of nodes are."""
        _refuse_uncertainty()

    def floats(self, nodes: int, channels: int) -> int:
        """A guess of what the graph of an unknown function holds."""
        return nodes * (64 * self.features + self.outputs * (2 + channels))

    def select(self, latents: tuple[int, ...]) -> "Functions":
        """Some of the outputs; the functions still compute all of them."""
        index, own = list(latents), self

        def mean(x: Tensor) -> Tensor:
            return own.values("mean", x)[:, index]

        def variance(x: Tensor) -> Tensor:
            return own.values("variance", x)[:, index]

        given = None if self.variance is None else variance
        return Functions(mean, given, features=self.inputs, outputs=len(index))

    def to(self, dtype: torch.dtype) -> "Functions":
        """Refused: the functions compute in the precision that they were written for."""
        raise ValueError("gplens.Functions compute in float64. Leave dtype= out.")

    def values(self, what: str, X: Float[Tensor, "k d"]) -> Float[Tensor, "k c"]:
        """The mean or the variance at points, its shape and dtype checked."""
        function: Function | None = getattr(self, what)
        if function is None:
            _refuse("variance(x) was not given, and this target needs it. Pass variance=, or explain targets.Latent().")
        found = function(X)
        shapes = [(len(X), self.outputs), *([(len(X),)] if self.outputs == 1 else [])]
        if not isinstance(found, Tensor) or tuple(found.shape) not in shapes or found.dtype != X.dtype:
            got = f"{found.dtype} of shape {tuple(found.shape)}" if isinstance(found, Tensor) else type(found).__name__
            _refuse(f"{what}(x) gives {got} for {len(X)} rows; wanted was a {X.dtype} tensor of shape {shapes[-1]}.")
        return found.reshape(len(X), self.outputs)

    def section(self, what: str, line: Line) -> Section:
        """The mean or the variance at the nodes of a line, (b, q, c), with its gradient by autograd."""
        return autograd_section(lambda x: self.values(what, x.flatten(0, 1)).unflatten(0, x.shape[:2]), line)

    def check(self, points: Float[Tensor, "k d"]) -> None:
        """Refuse functions that mix the rows of a batch, or whose gradient is not that of their values."""
        for what in ("mean",) if self.variance is None else ("mean", "variance"):
            together = self.values(what, points)
            if not bool(together.isfinite().all()) or (what == "variance" and bool((together < 0).any())):
                _refuse(f"{what}(x) is {float(together.min()):.6g} somewhere; it must be finite, a variance >= 0.")
            change = (together - torch.cat([self.values(what, row[None]) for row in points])).abs().max()
            if not bool(change <= SAME * together.abs().max()):
                _refuse(f"{what}(x) of a row changes by {float(change):.3g} with the other rows; it must not.")
            self._check_slope(what, points, together)

    def _check_slope(self, what: str, points: Float[Tensor, "k d"], values: Float[Tensor, "k c"]) -> None:
        spread = points.std(0, correction=0)
        h = 1e-5 * torch.where(spread > 0, spread, 1.0)
        ones = torch.ones(len(points), 1, 1, self.outputs, dtype=points.dtype)
        found = self.section(what, Line.at(points)).by_node(ones)[:, 0, 0] @ h
        expected = (self.values(what, points + h) - self.values(what, points - h)).sum(1) / 2
        if not bool((found - expected).abs().max() <= SLOPE * expected.abs().max() + 1e-9 * values.abs().max()):
            i = int((found - expected).abs().argmax())
            _refuse(
                f"{what}(x) changes by {float(expected[i]):.6g} along a small step where its autograd gradient says "
                f"{float(found[i]):.6g}. Write it with torch functions of x alone, without .detach(), .item() or numpy."
            )


@final
@dataclass(frozen=True)
class FunctionMarginals(Marginals):
    """The two functions at the nodes of a line."""

    functions: Functions
    line: Line

    @cached_property
    def mean(self) -> Section:
        """m(x_q)."""
        return self.functions.section("mean", self.line)

    @cached_property
    def variance(self) -> Section:
        """v(x_q)."""
        return self.functions.section("variance", self.line)

    def means(self) -> Float[Tensor, "b c q"]:
        """m."""
        return self.mean.values.mT

    def variances(self) -> Float[Tensor, "b c q"]:
        """v."""
        return self.variance.values.mT

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """By autograd."""
        pulled = Form(dense=(self.mean.by_node(wm.mT).sum(2),))
        return pulled if wv is None else pulled + Form(dense=(self.variance.by_node(wv.mT).sum(2),))


def _refuse(problem: str) -> NoReturn:
    raise ValueError(f"gplens.Functions: {problem}")


def _refuse_uncertainty() -> NoReturn:
    raise ValueError(
        "The uncertainty of an attribution needs the covariance of f between points, which mean(x) and variance(x) "
        "do not tell. Ask without uncertainty=, or give the process: gplens.Posterior.from_arrays(kernel, ...)."
    )
