"""Latent functions with Gaussian marginals, seen along a line: what the engine integrates (MATH 1, 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import TypeVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.form import Form
from gplens.joint import Joint
from gplens.line import Line
from gplens.pairs import Pairs

Moments = TypeVar("Moments", Pairs, Joint)


class Marginals(ABC):
    """m and v of c latent functions at the nodes of a line, and their pull-back. v is computed when asked for."""

    @cached_property
    def m(self) -> Float[Tensor, "b c q"]:
        """The means, computed once."""
        return self.means()

    @cached_property
    def v(self) -> Float[Tensor, "b c q"]:
        """The variances, computed once, and only if they are looked at."""
        return self.variances()

    @abstractmethod
    def means(self) -> Float[Tensor, "b c q"]:
        """What `m` is."""

    @abstractmethod
    def variances(self) -> Float[Tensor, "b c q"]:
        """What `v` is."""

    @abstractmethod
    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """sum_cq wm d_k m + wv d_k v  (4.1); without wv nothing of the variance is touched."""


class Process(ABC):
    """c latent functions of d features."""

    @property
    @abstractmethod
    def latents(self) -> int:
        """c."""

    @property
    @abstractmethod
    def features(self) -> int:
        """d."""

    @property
    @abstractmethod
    def autograd(self) -> bool:
        """Whether some gradient comes from autograd rather than from a formula."""

    @abstractmethod
    def along(self, line: Line) -> Marginals:
        """The marginals at the nodes of a line."""

    @abstractmethod
    def length(self, line: Line) -> Float[Tensor, " b"]:
        """How far the line goes in the units of the kernel that forgets first (4.6)."""

    @property
    @abstractmethod
    def smooth(self) -> bool:
        """Whether all kernels are analytic where their two arguments meet."""

    @abstractmethod
    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """One latent function and its gradient at the nodes of two lines that are one line in each row."""

    @abstractmethod
    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """The same for all pairs of nodes of a single line; all covariances between features if full."""

    @abstractmethod
    def floats(self, nodes: int, channels: int) -> int:
        """Numbers held for a line of so many nodes while so many channels are pulled back, features not counted."""

    @abstractmethod
    def select(self, latents: tuple[int, ...]) -> "Process":
        """Some of the latent functions alone."""

    @abstractmethod
    def to(self, dtype: torch.dtype) -> "Process":
        """The same in another precision."""

    @property
    def rounding(self) -> float:
        """The error of a target, relative to its size, that no refinement of a path removes."""
        return torch.finfo(torch.float64).eps

    def m(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        """The means at points  (1.1)."""
        return self.along(Line.at(X)).m[:, :, 0]

    def v(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        """The variances at points  (1.2)."""
        return self.along(Line.at(X)).v[:, :, 0]

    def m_gradient(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c d"]:
        """d_k m at points  (1.4)."""
        return self._gradients(X, _each(self.latents, X), None)

    def v_gradient(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c d"]:
        """d_k v at points  (1.5)."""
        one = _each(self.latents, X)
        return self._gradients(X, torch.zeros_like(one), one)

    def _gradients(self, X: Float[Tensor, "b d"], wm: Tensor, wv: Tensor | None) -> Float[Tensor, "b c d"]:
        form = self.along(Line.at(X)).pull_back(wm, wv)
        return form.evaluate((X.shape[0], self.latents, X.shape[1]), X)


def _each(latents: int, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c c 1"]:
    return torch.eye(latents, dtype=X.dtype).expand(X.shape[0], -1, -1)[..., None]


@final
class Stack(Process):
    """Processes side by side: latent functions with kernels and support points of their own."""

    def __init__(self, parts: tuple[Process, ...]) -> None:
        if not parts or len({part.features for part in parts}) != 1:
            got = [part.features for part in parts]
            raise ValueError(f"A Stack wants at least one process, all of one number of features; got {got}.")
        self.parts = parts

    @property
    def latents(self) -> int:
        """All of the parts' latent functions."""
        return sum(part.latents for part in self.parts)

    @property
    def features(self) -> int:
        """Those that the parts share."""
        return self.parts[0].features

    @property
    def autograd(self) -> bool:
        """Whether any part's is."""
        return any(part.autograd for part in self.parts)

    def along(self, line: Line) -> "StackMarginals":
        """The parts' marginals, side by side."""
        return StackMarginals(tuple(part.along(line) for part in self.parts))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """The longest."""
        return reduce(torch.maximum, (part.length(line) for part in self.parts))

    @property
    def smooth(self) -> bool:
        """Whether all parts are."""
        return all(part.smooth for part in self.parts)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """Those of the part to which the latent function belongs."""
        part, own = self._part(latent)
        return part.pairs(left, right, own)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """That of the part to which the latent function belongs."""
        part, own = self._part(latent)
        return part.joint(line, own, full=full)

    def _part(self, latent: int) -> tuple[Process, int]:
        for part in self.parts:
            if latent < part.latents:
                return part, latent
            latent -= part.latents
        raise IndexError(f"There are {self.latents} latent functions.")

    def floats(self, nodes: int, channels: int) -> int:
        """All of the parts'."""
        return sum(part.floats(nodes, channels) for part in self.parts)

    def select(self, latents: tuple[int, ...]) -> Process:
        """The parts to which they belong, one for each."""
        parts = [part.select((own,)) for part, own in map(self._part, latents)]
        return parts[0] if len(parts) == 1 else Stack(tuple(parts))

    def to(self, dtype: torch.dtype) -> "Stack":
        """All of the parts."""
        return Stack(tuple(part.to(dtype) for part in self.parts))


@final
@dataclass(frozen=True)
class StackMarginals(Marginals):
    """Marginals side by side."""

    parts: tuple[Marginals, ...]

    def means(self) -> Float[Tensor, "b c q"]:
        """The parts' means."""
        return torch.cat([part.m for part in self.parts], dim=1)

    def variances(self) -> Float[Tensor, "b c q"]:
        """The parts' variances."""
        return torch.cat([part.v for part in self.parts], dim=1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """The sum over the parts, each with its own weights."""
        sizes = [part.m.shape[1] for part in self.parts]
        wvs = [None] * len(sizes) if wv is None else wv.split(sizes, dim=2)
        pieces = zip(self.parts, wm.split(sizes, dim=2), wvs, strict=True)
        return reduce(add, (part.pull_back(a, b) for part, a, b in pieces))


@final
class Mix(Process):
    """Outputs that are linear mixes of independent latent functions:  m = M m_l,  v = M^2 v_l + jitter  (1.8)."""

    def __init__(self, base: Process, weights: Float[Tensor, "c l"], jitter: float = 0.0) -> None:
        if weights.shape[1] != base.latents:
            raise ValueError(f"A Mix of {base.latents} latent functions wants as many columns; got {weights.shape[1]}.")
        self.base, self.weights, self.jitter = base, weights, jitter

    @property
    def latents(self) -> int:
        """The outputs of the mix."""
        return self.weights.shape[0]

    @property
    def features(self) -> int:
        """As the base."""
        return self.base.features

    @property
    def autograd(self) -> bool:
        """As the base."""
        return self.base.autograd

    def along(self, line: Line) -> "MixMarginals":
        """The base's marginals, mixed."""
        return MixMarginals(self.base.along(line), self.weights, self.jitter)

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As the base."""
        return self.base.length(line)

    @property
    def smooth(self) -> bool:
        """As the base."""
        return self.base.smooth

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """The sum of independent latent functions, weighted."""
        return self._mixed([self.base.pairs(left, right, i) for i in range(self.base.latents)], latent)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """The sum of independent latent functions, weighted."""
        return self._mixed([self.base.joint(line, i, full=full) for i in range(self.base.latents)], latent)

    def _mixed(self, each: list[Moments], latent: int) -> Moments:
        weights = self.weights[latent].tolist()
        total = each[0].mixed(weights[0], each[0], 0.0)
        for one, weight in zip(each[1:], weights[1:], strict=True):
            total = total.mixed(1.0, one, weight)
        return total.with_jitter(self.jitter)

    def floats(self, nodes: int, channels: int) -> int:
        """As the base."""
        return self.base.floats(nodes, channels)

    def select(self, latents: tuple[int, ...]) -> "Mix":
        """Some of the outputs."""
        return Mix(self.base, self.weights[list(latents)], self.jitter)

    def to(self, dtype: torch.dtype) -> "Mix":
        """The base and the weights."""
        return Mix(self.base.to(dtype), self.weights.to(dtype), self.jitter)


@final
@dataclass(frozen=True)
class MixMarginals(Marginals):
    """Marginals of a linear mix."""

    base: Marginals
    weights: Float[Tensor, "c l"]
    jitter: float

    def means(self) -> Float[Tensor, "b c q"]:
        """M m_l."""
        return self.weights @ self.base.m

    def variances(self) -> Float[Tensor, "b c q"]:
        """M^2 v_l + jitter, the square taken elementwise: the latent functions are independent."""
        return self.weights**2 @ self.base.v + self.jitter

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """The weights, mixed back."""
        M = self.weights.T
        return self.base.pull_back(M @ wm, None if wv is None else M**2 @ wv)
