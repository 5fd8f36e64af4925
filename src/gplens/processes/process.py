"""Latent functions with Gaussian marginals, seen along a line: what the engine integrates (MATH 1, 4)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form


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

    def held(self, nodes: int, channels: int) -> int:
        """Those of them that are held until the pull-back is multiplied out, while other processes do their work."""
        return self.floats(nodes, channels)

    @abstractmethod
    def select(self, latents: tuple[int, ...]) -> "Process":
        """Some of the latent functions alone."""

    @abstractmethod
    def to(self, dtype: torch.dtype) -> "Process":
        """The same in another precision."""

    def sources(self) -> "Sources | None":
        """The independent latent functions behind outputs that share some; None where the outputs are independent."""
        return None

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
        return form.evaluate(X.new_empty(X.shape[0], self.latents, X.shape[1]))


def _each(latents: int, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c c 1"]:
    return torch.eye(latents, dtype=X.dtype).expand(X.shape[0], -1, -1)[..., None]


@final
@dataclass(frozen=True, eq=False)
class Sources:
    """Independent latent functions g, and the outputs made of them:  f = M g + N e, e standard normal  (1.8)."""

    process: Process
    weights: Float[Tensor, "c l"]
    """M."""
    noise: Float[Tensor, "c k"]
    """N: the jitter that a host adds to mixed outputs; no columns where there is none."""

    @staticmethod
    def of(process: Process) -> "Sources":
        """Those of any process; independent outputs are their own."""
        own = torch.eye(process.latents, dtype=torch.float64)
        return process.sources() or Sources(process, own, own[:, :0])

    @property
    def jitter(self) -> Float[Tensor, " c"]:
        """The variance of N e."""
        return self.noise.square().sum(1)
