"""Processes side by side (MATH 1)."""

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.lines.pairs import Joint, Pairs
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals, Process, Sources


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
        """What all of the parts hold, and what one of them needs for a moment."""
        passing = max(part.floats(nodes, channels) - part.held(nodes, channels) for part in self.parts)
        return self.held(nodes, channels) + passing

    def held(self, nodes: int, channels: int) -> int:
        """What all of the parts do."""
        return sum(part.held(nodes, channels) for part in self.parts)

    def select(self, latents: tuple[int, ...]) -> Process:
        """The parts to which they belong, one for each."""
        parts = [part.select((own,)) for part, own in map(self._part, latents)]
        return parts[0] if len(parts) == 1 else Stack(tuple(parts))

    def sources(self) -> Sources | None:
        """Those of the parts, side by side."""
        if all(part.sources() is None for part in self.parts):
            return None
        each = [Sources.of(part) for part in self.parts]
        weights, noise = ([one.weights for one in each], [one.noise for one in each])
        process = Stack(tuple(one.process for one in each))
        return Sources(process, torch.block_diag(*weights), torch.block_diag(*noise))

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
