"""The interface of a process: latent functions with Gaussian marginals, evaluated along a line (MATH 1, 4)."""

from abc import ABC, abstractmethod
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs

if TYPE_CHECKING:
    from gplens.processes.latent_sources import Sources

Blocks = tuple[tuple[int, ...], ...]
"""Columns that change together."""
CUTS = 256
"""The most kinks at which paths are cut, unless a process says otherwise."""
BLOCK = 2**25
"""Bytes of the temporaries of a block. Recipe: benchmarks/blocks.py prints the time for several sizes."""
HELD = 6
"""Numbers held at once for each unit of the `width` of a process: distances, k, its slope, and products of them."""
ROUNDING = 1e-6
"""v is a difference of two numbers of the size of k(x,x). A result below -1e-6 k(x,x) cannot be rounding."""


class Marginals(ABC):
    """m and v of c latent functions at the nodes of a line, and their pull-back.

    A subclass defines `means`, `variances` and `pull_back`. `m` and `v` are computed on first use, if they are used.
    """

    @cached_property
    def m(self) -> Float[Tensor, "b c q"]:
        """The means, computed on first use."""
        return self.means()

    @cached_property
    def v(self) -> Float[Tensor, "b c q"]:
        """The variances, computed on first use."""
        return self.variances()

    @abstractmethod
    def means(self) -> Float[Tensor, "b c q"]:
        """Compute the means, which `m` keeps."""

    @abstractmethod
    def variances(self) -> Float[Tensor, "b c q"]:
        """Compute the variances, which `v` keeps."""

    @abstractmethod
    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """sum_cq wm d_k m + wv d_k v  (4.1). With wv = None the variance is not computed."""

    def slopes(
        self, V: Float[Tensor, "b s k"], columns: Int[Tensor, " k"] | slice, *, variances: bool
    ) -> tuple[Float[Tensor, "b c q s"], Float[Tensor, "b c q s"] | None] | None:
        """Derivatives at the nodes in s directions, zero beside some columns; None if `pull_back` is no dearer."""
        return None


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
        """Numbers held per node, up to a common factor; the size of blocks of rows follows from it."""
        return self.latents * self.features

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
        """k(x,x) + jitter at points; None if the prior is not known, as for functions."""
        return None

    def support_along(self, line: Line, at: Marginals | None = None) -> Float[Tensor, "b c q"] | None:
        """s = 1 - v/k at the nodes of a line  (1.15): 1 where the data determine f, 0 where only the prior does.

        None if the prior is not known; 1 where k(x,x) = 0, so that the prior itself determines f. `at` are the
        marginals on the line, if they are known.
        """
        prior = self.prior_variance(line.points().flatten(0, 1))
        if prior is None:
            return None
        k, v = prior.unflatten(0, line.t.shape).mT, (self.along(line) if at is None else at).v
        return support_of(k, v)

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
        return self._gradients(X, of_means=True)

    def v_gradient(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c d"]:
        """d_k v at points  (1.5)."""
        return self._gradients(X, of_means=False)

    def _gradients(self, X: Float[Tensor, "b d"], *, of_means: bool) -> Float[Tensor, "b c d"]:
        each = torch.eye(self.latents, dtype=X.dtype).expand(X.shape[0], -1, -1)[..., None]
        weights = (each, None) if of_means else (torch.zeros_like(each), each)
        form = self.along(Line.at(X)).pull_back(*weights)
        return form.evaluate(X.new_empty(X.shape[0], self.latents, X.shape[1]))


def support_of(k: Float[Tensor, "*any"], v: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """1 - v/k, and 1 where k = 0  (1.15)."""
    return 1 - v / k if bool((k > 0).all()) else torch.where(k > 0, 1 - v / torch.where(k > 0, k, 1.0), 1.0)


def rows_in_a_block(numbers: int) -> int:
    """The number of rows that fit into a block, at least one, if each takes so many float64 numbers."""
    return max(1, BLOCK // (8 * numbers))


def numbers_on_a_line(process: Process, nodes: int, channels: int) -> int:
    """Numbers that one line holds while its marginals are evaluated and `channels` of weights are pulled back."""
    return HELD * nodes * process.width + channels * (process.width + 2 * process.features)


def without_rounding(v: Float[Tensor, "i j q"], prior: Float[Tensor, "#i #j #q"]) -> Float[Tensor, "i j q"]:
    """v with negative rounding errors set to zero. A variance that is truly negative is an error."""
    if bool((v < -ROUNDING * prior).any()):
        i = int((v + ROUNDING * prior).argmin())
        worst, prior_there = float(v.flatten()[i]), float(prior.expand_as(v).flatten()[i])
        raise ArithmeticError(
            f"expected a posterior variance >= 0, got {worst:.3g} where the prior variance is {prior_there:.3g}: A is "
            "that of another kernel or Z, or it is too badly conditioned; fit again with more noise or jitter."
        )
    return v.clamp(min=0)


def check_marginal(m: Tensor, v: Tensor) -> None:
    """Refuse invalid m and v: they need the same shape and floating dtype, finite entries, and v >= 0."""
    if m.shape != v.shape:
        raise ValueError(
            f"expected one variance per mean, got m of shape {tuple(m.shape)} and v of shape {tuple(v.shape)}. "
            "Expand them to one shape first: m, v = torch.broadcast_tensors(m, v)."
        )
    if m.dtype != v.dtype or not m.is_floating_point():
        raise ValueError(
            f"expected m and v of one floating dtype, got {m.dtype} and {v.dtype}; nothing is cast. "
            "Convert both, preferably to float64: m.double(), v.double()."
        )
    check_finite("m", m)
    check_finite("v", v)
    if bool((v < 0).any()):
        raise ValueError(
            f"expected v >= 0, got {int((v < 0).sum())} of {v.numel()} below zero, down to {v.min().item():.6g}, as by "
            "rounding of k(x,x) - k'Ak; use float64 or more noise, or clip v if you know that it is rounding."
        )


def check_finite(name: str, x: Tensor) -> None:
    """Refuse NaN and infinity. They do not vanish in a sum, which is faster to look at."""
    if isfinite(x.sum().item()):
        return
    bad = ~torch.isfinite(x)
    if bool(bad.any()):
        raise ValueError(
            f"expected a finite {name}, got {int(bad.sum())} of {x.numel()} entries that are NaN or infinite; look for "
            "missing values in the inputs, and for a model whose training diverged."
        )
