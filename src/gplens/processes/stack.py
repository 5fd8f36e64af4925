"""Processes side by side (MATH 1)."""

from functools import cached_property, reduce
from operator import add
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.forms import Form
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.processes.latent_sources import Sources
from gplens.processes.posterior import Posterior
from gplens.processes.process import Blocks, Marginals, Process
from gplens.processes.radial_posteriors import RadialPosteriors


@final
class Stack(Process):
    """Processes side by side: latent functions with different kernels and support points.

    Args:
        parts: processes of the same features; their latent functions are those of the stack, in this order.

    Raises:
        ValueError: if there is no part, or parts have different numbers of features.

    Example:
        >>> gplens.Stack((gp, gp)).latents
        2
    """

    def __init__(self, parts: tuple[Process, ...]) -> None:
        if not parts or len({part.features for part in parts}) != 1:
            got = [part.features for part in parts]
            raise ValueError(f"Stack: expected at least one process, all with the same number of features, got {got}.")
        self.parts = parts

    @property
    def latents(self) -> int:
        return sum(part.latents for part in self.parts)

    @property
    def features(self) -> int:
        return self.parts[0].features

    @property
    def autograd(self) -> bool:
        return any(part.autograd for part in self.parts)

    @property
    def smooth(self) -> bool:
        return all(part.smooth for part in self.parts)

    @property
    def categories(self) -> Blocks:
        return tuple(block for part in self.parts for block in part.categories)

    @property
    def rounded(self) -> tuple[int, ...]:
        return tuple(column for part in self.parts for column in part.rounded)

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return torch.cat([part.kinks(line) for part in self.parts], dim=1)

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts)

    @cached_property
    def radial(self) -> RadialPosteriors | None:
        """All parts in one object, if they are posteriors with kernels of one class and equally many support points."""
        posteriors = [part for part in self.parts if isinstance(part, Posterior)]
        return RadialPosteriors.of(posteriors) if len(posteriors) == len(self.parts) else None

    def along(self, line: Line) -> Marginals:
        radial = None if self.radial is None else self.radial.along(line)
        return StackMarginals(tuple(part.along(line) for part in self.parts)) if radial is None else radial

    def length(self, line: Line) -> Float[Tensor, " b"]:
        """The longest path length of the parts."""
        return reduce(torch.maximum, (part.length(line) for part in self.parts))

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        part, index = self._part(latent)
        return part.pairs(left, right, index)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        part, index = self._part(latent)
        return part.split_pairs(line, index)

    def select(self, latents: tuple[int, ...]) -> Process:
        parts = [part.select((index,)) for part, index in map(self._part, latents)]
        return parts[0] if len(parts) == 1 else Stack(tuple(parts))

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
        priors = [prior for part in self.parts if (prior := part.prior_variance(X)) is not None]
        return torch.cat(priors, dim=1) if len(priors) == len(self.parts) else None

    def sources(self) -> Sources | None:
        """The sources of the parts, side by side."""
        if all(part.sources() is None for part in self.parts):
            return None
        sources = [Sources.of(part) for part in self.parts]
        weights, noise = torch.block_diag(*(s.weights for s in sources)), torch.block_diag(*(s.noise for s in sources))
        return Sources(Stack(tuple(s.process for s in sources)), weights, noise)

    def _part(self, latent: int) -> tuple[Process, int]:
        """The part to which a latent function belongs, and its index there."""
        for part in self.parts:
            if latent < part.latents:
                return part, latent
            latent -= part.latents
        raise IndexError(f"expected a latent function below {self.latents}, got {latent + self.latents}.")


@final
class StackMarginals(Marginals):
    """Marginals side by side."""

    def __init__(self, parts: tuple[Marginals, ...]) -> None:
        self.parts = parts

    def means(self) -> Float[Tensor, "b c q"]:
        return torch.cat([part.m for part in self.parts], dim=1)

    def variances(self) -> Float[Tensor, "b c q"]:
        return torch.cat([part.v for part in self.parts], dim=1)

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        """The sum over the parts, each with the weights of its latent functions."""
        sizes = [part.m.shape[1] for part in self.parts]
        wvs = [None] * len(sizes) if wv is None else wv.split(sizes, dim=2)
        pieces = zip(self.parts, wm.split(sizes, dim=2), wvs, strict=True)
        return reduce(add, (part.pull_back(part_wm, part_wv) for part, part_wm, part_wv in pieces))
