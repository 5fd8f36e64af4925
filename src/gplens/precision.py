"""A process in single precision, seen from the outside in double: for speed where four digits are enough."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process, Sources

FINEST = 1e-4
"""Below this a tolerance asks for digits that float32 does not have."""
ROUNDING = 1e-5
"""The error of a target relative to its size, beyond which no path can be refined in float32."""


@final
@dataclass(frozen=True, eq=False)
class Single(Process):
    """Kernels, products and pull-backs in float32; means, variances and targets in float64. Not for error bars."""

    own: Process
    """In float32."""
    double: Process
    """The same in float64, for everything else."""

    @staticmethod
    def of(process: Process) -> "Single":
        """Refused where a kernel or mean is the host's own function, which computes in the host's precision."""
        if process.autograd:
            raise ValueError(
                "dtype=torch.float32 wants kernels and means that gplens has a formula for; some of this model's go "
                "through autograd. Leave dtype= out."
            )
        return Single(process.to(torch.float32), process)

    @property
    def latents(self) -> int:
        """As in float64."""
        return self.own.latents

    @property
    def features(self) -> int:
        """As in float64."""
        return self.own.features

    @property
    def autograd(self) -> bool:
        """Never."""
        return False

    @property
    def smooth(self) -> bool:
        """As in float64."""
        return self.double.smooth

    @property
    def rounding(self) -> float:
        """That of float32."""
        return ROUNDING

    def along(self, line: Line) -> "SingleMarginals":
        """The marginals at the nodes, in float64 from float32."""
        return SingleMarginals(self.own.along(Line(line.x0.float(), line.d.float(), line.t.float())))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """As in float64."""
        return self.double.length(line)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        """Error bars take float64."""
        return self.double.pairs(left, right, latent)

    def joint(self, line: Line, latent: int, *, full: bool) -> Joint:
        """Error bars take float64."""
        return self.double.joint(line, latent, full=full)

    def sources(self) -> Sources | None:
        """Error bars take float64."""
        return self.double.sources()

    def floats(self, nodes: int, channels: int) -> int:
        """Half of those in float64."""
        return -(-self.own.floats(nodes, channels) // 2)

    def select(self, latents: tuple[int, ...]) -> "Single":
        """Some of the latent functions."""
        return Single(self.own.select(latents), self.double.select(latents))

    def to(self, dtype: torch.dtype) -> Process:
        """The process itself."""
        return self.own if dtype == torch.float32 else self.double


@final
@dataclass(frozen=True, eq=False)
class SingleMarginals(Marginals):
    """m and v in float64, their pull-back in float32."""

    own: Marginals

    def means(self) -> Float[Tensor, "b c q"]:
        """Raised to float64."""
        return self.own.m.double()

    def variances(self) -> Float[Tensor, "b c q"]:
        """Raised to float64."""
        return self.own.v.double()

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """Of weights in float32."""
        return self.own.pull_back(wm.float(), None if wv is None else wv.float())
