"""The interface of a process: latent functions with Gaussian marginals, evaluated along a line (MATH 1, 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.lines.pull_back import Form

Blocks = tuple[tuple[int, ...], ...]
"""Columns that change together."""
CUTS = 256
"""The most kinks at which paths are cut, unless a process says otherwise."""


class Marginals(ABC):
    """m and v of c latent functions at the nodes of a line, and their pull-back.

    A subclass defines `means`, `variances` and `pull_back`. `m` and `v` are computed on first use, so that a target
    that does not depend on the variance never computes it.
    """

    @cached_property
    def m(self) -> Float[Tensor, "b c q"]:
        """The means."""
        return self.means()

    @cached_property
    def v(self) -> Float[Tensor, "b c q"]:
        """The variances."""
        return self.variances()

    @abstractmethod
    def means(self) -> Float[Tensor, "b c q"]:
        """Compute `m`."""

    @abstractmethod
    def variances(self) -> Float[Tensor, "b c q"]:
        """Compute `v`."""

    @abstractmethod
    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """sum_cq wm d_k m + wv d_k v  (4.1). With wv = None the variance is not computed."""


class Process(ABC):
    """c latent functions of d features. A subclass defines the eight abstract members.

    Example:
        >>> isinstance(gp, gplens.Process)
        True
        >>> gp.m(gp.Z).shape
        torch.Size([5, 1])
    """

    @property
    @abstractmethod
    def latents(self) -> int:
        """The number c of latent functions."""

    @property
    @abstractmethod
    def features(self) -> int:
        """The number d of features."""

    @property
    @abstractmethod
    def autograd(self) -> bool:
        """Whether any gradient comes from autograd rather than from a formula."""

    @property
    @abstractmethod
    def smooth(self) -> bool:
        """Whether all kernels are analytic where their two arguments are equal."""

    @property
    def categories(self) -> Blocks:
        """Columns that have no values in between, in blocks that change together (10.1); some blocks may overlap."""
        return ()

    @property
    def rounded(self) -> tuple[int, ...]:
        """Columns that the host rounds; host and process agree there at whole numbers only."""
        return ()

    @abstractmethod
    def along(self, line: Line) -> Marginals:
        """The marginals at the nodes of a line."""

    @abstractmethod
    def length(self, line: Line) -> Float[Tensor, " b"]:
        """Path length in units of the shortest lengthscale (4.6)."""

    @abstractmethod
    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """One latent function and its gradient at pairs of nodes of two lines, which may be the same line."""

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        """The pairs of nodes of one line, with the fitted part separate from the prior, for error bars.

        By default nothing counts as fitted, and `pairs` is called at all nodes of the integrand.
        """
        pairs = self.pairs(line, line, latent)
        jitter = pairs.left.v - pairs.c.diagonal(dim1=1, dim2=2)
        return SplitPairs.unsplit(pairs.left, jitter, lambda left, right: self.pairs(left, right, latent).as_between())

    @abstractmethod
    def select(self, latents: tuple[int, ...]) -> "Process":
        """Some of the latent functions."""

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        """The places t at which derivatives of m and v are known to have kinks; places outside (0, 1) are ignored."""
        return line.d.new_empty(len(line.d), 0)

    @property
    def paths(self) -> int:
        """The number of paths that are joined to one line; nodes of draws are placed on each of them."""
        return 1

    @property
    def cuts(self) -> int:
        """The most kinks at which paths are cut into panels before anything is evaluated (4.9b)."""
        return CUTS

    @property
    def width(self) -> int:
        """Numbers held per node, up to a common factor; paths/blocks.py derives the size of blocks of rows from it."""
        return self.latents * self.features

    def sources(self) -> "Sources | None":
        """The independent latent functions of which the outputs are mixes; None if the outputs are independent."""
        return None

    def m(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        """The means at points  (1.1)."""
        return self.along(Line.at(X)).m[:, :, 0]

    def v(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        """The variances at points  (1.2)."""
        return self.along(Line.at(X)).v[:, :, 0]

    def m_gradient(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c d"]:
        """d_k m at points  (1.4)."""
        return self._gradients(X, _one_channel_each(self.latents, X), None)

    def v_gradient(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c d"]:
        """d_k v at points  (1.5)."""
        channels = _one_channel_each(self.latents, X)
        return self._gradients(X, torch.zeros_like(channels), channels)

    def _gradients(self, X: Float[Tensor, "b d"], wm: Tensor, wv: Tensor | None) -> Float[Tensor, "b c d"]:
        form = self.along(Line.at(X)).pull_back(wm, wv)
        return form.evaluate(X.new_empty(X.shape[0], self.latents, X.shape[1]))


def _one_channel_each(latents: int, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c c 1"]:
    return torch.eye(latents, dtype=X.dtype).expand(X.shape[0], -1, -1)[..., None]


@final
@dataclass(frozen=True, eq=False)
class Sources:
    """Independent latent functions g and the outputs made of them:  f = M g + N e, e standard normal  (1.8)."""

    process: Process
    weights: Float[Tensor, "c l"]
    """M."""
    noise: Float[Tensor, "c k"]
    """N: the jitter that a host adds to mixed outputs; no columns if it adds none."""

    @staticmethod
    def of(process: Process) -> "Sources":
        """The sources of any process; independent outputs are their own sources."""
        identity = torch.eye(process.latents, dtype=torch.float64)
        return process.sources() or Sources(process, identity, identity[:, :0])

    @property
    def jitter(self) -> Float[Tensor, " c"]:
        """The variance of N e."""
        return self.noise.square().sum(1)
