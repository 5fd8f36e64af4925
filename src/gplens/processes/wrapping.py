"""The base class of processes that hold another one: what they pass on unless they say otherwise."""

from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.processes.process import Blocks, Process


class Wrapping(Process):
    """A process made of the latent functions of `base`. A subclass defines `base`, and what it changes."""

    base: Process

    @property
    def latents(self) -> int:
        return self.base.latents

    @property
    def features(self) -> int:
        return self.base.features

    @property
    def autograd(self) -> bool:
        return self.base.autograd

    @property
    def smooth(self) -> bool:
        return self.base.smooth

    @property
    def categories(self) -> Blocks:
        return self.base.categories

    @property
    def rounded(self) -> tuple[int, ...]:
        return self.base.rounded

    @property
    def paths(self) -> int:
        return self.base.paths

    @property
    def cuts(self) -> int:
        return self.base.cuts

    @property
    def width(self) -> int:
        return self.base.width

    def inner(self, line: Line) -> Line:
        """The line of the base on which a line of this process lies."""
        return line

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return self.base.kinks(self.inner(line))

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.base.length(self.inner(line))
