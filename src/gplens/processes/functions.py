"""A Gaussian process given only by differentiable functions mean(x) and variance(x)."""

from collections.abc import Callable
from functools import cached_property
from typing import NoReturn, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line, Section, autograd_section
from gplens.lines.pairs import Pairs
from gplens.processes.process import Marginals, Process

Function = Callable[[Tensor], Tensor]

PIECES = 64
"""The number of pieces of a path at whose ends the functions are evaluated, to see how often they turn."""
SAME = 1e-8
"""Largest difference between a row alone and the same row in a batch, relative to the largest value."""
SLOPE = 1e-4
"""Largest difference between a derivative and central differences at a step of 1e-5, relative to the larger."""


@final
class Functions(Process):
    """m(x) and v(x) as torch functions of a batch: (b, d) -> (b,), or (b, c) for c outputs. Gradients by autograd.

    Row i of the result must depend only on row i of the input. explain() checks this, and that the autograd gradient
    agrees with the values. A bump narrower than 1/64 of the path can be missed; one of 1/1000 is found with the finer
    first panels of rule=gplens.rules.Adaptive(reach=0.05).

    Args:
        mean: m(x) in float64.
        variance: v(x) >= 0. Not needed for targets that do not depend on it, such as the latent mean.
        features: d.
        outputs: c.

    Example:
        >>> f = gplens.Functions(lambda x: x[:, 0] * x[:, 1], features=2)
        >>> e = gplens.explain(f, [[1.0, 2.0]], baseline=0.0, target=gplens.targets.Latent())
        >>> print([round(value, 6) for value in e.values[0].tolist()])
        [1.0, 1.0]
    """

    def __init__(self, mean: Function, variance: Function | None = None, *, features: int, outputs: int = 1) -> None:
        self.mean, self.variance, self.inputs, self.outputs = mean, variance, features, outputs

    @property
    def latents(self) -> int:
        return self.outputs

    @property
    def features(self) -> int:
        return self.inputs

    @property
    def autograd(self) -> bool:
        return True

    @property
    def smooth(self) -> bool:
        """Not known, so assumed to be False."""
        return False

    @property
    def width(self) -> int:
        """A guess of the numbers that the autograd graph of an unknown function holds."""
        return 10 * self.features + self.outputs

    def along(self, line: Line) -> "FunctionMarginals":
        return FunctionMarginals(self, line)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Three lengthscales for each time that a function runs through its whole range: one panel for each turn."""
        t = torch.linspace(0, 1, PIECES + 1, dtype=line.d.dtype).expand(len(line.d), -1)
        marginals = self.along(Line(line.x0, line.d, t))
        values = marginals.m if self.variance is None else torch.cat([marginals.m, marginals.v], dim=1)
        variation, spread = values.diff(dim=2).abs().sum(2), values.amax(2) - values.amin(2)
        return 3 * torch.where(spread > 0, variation / spread, 0).amax(1)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        raise ValueError(
            "expected a process with covariances between points for uncertainty=, got gplens.Functions, whose mean(x) "
            "and variance(x) do not contain them. Explain without uncertainty=, or pass the process itself: "
            "gplens.Posterior.from_arrays(kernel, ...)."
        )

    def select(self, latents: tuple[int, ...]) -> "Functions":
        """Some of the outputs. The functions still compute all outputs."""
        index, functions = list(latents), self

        def mean(x: Tensor) -> Tensor:
            return functions.values("mean", x)[:, index]

        def variance(x: Tensor) -> Tensor:
            return functions.values("variance", x)[:, index]

        selected = None if self.variance is None else variance
        return Functions(mean, selected, features=self.inputs, outputs=len(index))

    def values(self, name: str, X: Float[Tensor, "k d"]) -> Float[Tensor, "k c"]:
        """The mean or the variance at points, after a check of shape and dtype."""
        function: Function | None = getattr(self, name)
        if function is None:
            _refuse("expected variance=, which this target needs, got None. Pass it, or explain targets.Latent().")
        values = function(X)
        shapes = [(len(X), self.outputs), *([(len(X),)] if self.outputs == 1 else [])]
        if not isinstance(values, Tensor) or tuple(values.shape) not in shapes or values.dtype != X.dtype:
            is_tensor = isinstance(values, Tensor)
            got = f"{values.dtype} of shape {tuple(values.shape)}" if is_tensor else type(values).__name__
            _refuse(f"expected {name}(x) to be {X.dtype} of shape {shapes[-1]} for {len(X)} rows, got {got}.")
        return values.reshape(len(X), self.outputs)

    def section(self, name: str, line: Line) -> Section:
        """The mean or the variance at the nodes of a line, (b, q, c), with its gradient by autograd."""
        return autograd_section(lambda x: self.values(name, x.flatten(0, 1)).unflatten(0, x.shape[:2]), line)

    def check(self, points: Float[Tensor, "k d"]) -> None:
        """Refuse functions that mix the rows of a batch, or whose autograd gradient contradicts their values."""
        for name in ("mean",) if self.variance is None else ("mean", "variance"):
            together = self.values(name, points)
            if not bool(together.isfinite().all()) or (name == "variance" and bool((together < 0).any())):
                _refuse(f"expected {name}(x) to be finite, a variance >= 0, got {float(together.min()):.6g}.")
            alone = torch.cat([self.values(name, row[None]) for row in points])
            change = (together - alone).abs().max()
            if not bool(change <= SAME * together.abs().max()):
                _refuse(
                    f"expected {name}(x) of a row not to depend on the others, got a change of {float(change):.3g}."
                )
            self._check_slope(name, points, together)

    def _check_slope(self, name: str, points: Float[Tensor, "k d"], values: Float[Tensor, "k c"]) -> None:
        spread = points.std(0, correction=0)
        h = 1e-5 * torch.where(spread > 0, spread, 1.0)
        ones = torch.ones(len(points), 1, 1, self.outputs, dtype=points.dtype)
        by_autograd = self.section(name, Line.at(points)).by_node(ones)[:, 0, 0] @ h
        by_difference = (self.values(name, points + h) - self.values(name, points - h)).sum(1) / 2
        difference = (by_autograd - by_difference).abs()
        if not bool(difference.max() <= SLOPE * by_difference.abs().max() + 1e-9 * values.abs().max()):
            i = int(difference.argmax())
            _refuse(
                f"expected the autograd gradient of {name}(x) to give the change {float(by_difference[i]):.6g} along a "
                f"small step, got {float(by_autograd[i]):.6g}. Write {name} with torch functions of x alone, without "
                ".detach(), .item() or numpy."
            )


@final
class FunctionMarginals(Marginals):
    """The two functions at the nodes of a line, each evaluated on first use."""

    def __init__(self, functions: Functions, line: Line) -> None:
        self.functions, self.line = functions, line

    @cached_property
    def mean(self) -> Section:
        """m(x_q)."""
        return self.functions.section("mean", self.line)

    @cached_property
    def variance(self) -> Section:
        """v(x_q)."""
        return self.functions.section("variance", self.line)

    def means(self) -> Float[Tensor, "b c q"]:
        return self.mean.values.mT

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.variance.values.mT

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        form = Form(dense=(self.mean.by_node(wm.mT).sum(2),))
        return form if wv is None else form + Form(dense=(self.variance.by_node(wv.mT).sum(2),))


def _refuse(problem: str) -> NoReturn:
    raise ValueError(f"gplens.Functions: {problem}")
