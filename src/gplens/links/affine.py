"""A link, scaled and shifted."""

from dataclasses import dataclass
from math import isfinite
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.link import Link, Moments, PairMoments
from gplens.lines.shapes import Batch


@final
@dataclass(frozen=True)
class Affine(Link):
    """scale g + offset:  scale E g + offset,  scale E g',  scale E g''. As exact as the inner link.

    Raises:
        ValueError: if the scale or the offset is not finite.

    Example:
        >>> link = gplens.links.Affine(gplens.links.Exp(), scale=2.0, offset=1.0)
        >>> link.moments(torch.zeros(1), torch.zeros(1)).value.item()
        3.0
    """

    link: Link
    """The inner g."""

    scale: float
    """Multiplies g."""

    offset: float
    """Added to scale g."""

    def __post_init__(self) -> None:
        if not (isfinite(self.scale) and isfinite(self.offset)):
            raise ValueError(
                f"Affine: expected a finite scale and offset, got scale={self.scale}, offset={self.offset}. "
                "Check the parameters of the likelihood."
            )

    def resolution(self, m: Batch, v: Batch) -> Batch:
        return self.link.resolution(m, v)

    @property
    def exact(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.link.exact

    @property
    def needs_variance(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.link.needs_variance

    @property
    def has_pair_moments(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.link.has_pair_moments

    def __call__(self, f: Batch) -> Batch:
        return self.scale * self.link(f) + self.offset

    def moments(self, m: Batch, v: Batch) -> Moments:
        """The inner moments, scaled; the offset enters the value alone."""
        value, slope, curvature = self.link.moments(m, v)
        return Moments(self.scale * value + self.offset, self.scale * slope, self.scale * curvature)

    def derivative(self, f: Batch) -> Batch:
        return self.scale * self.link.derivative(f)

    def pair_moments(self, m: Float[Tensor, "b q"], v: Float[Tensor, "b q"], c: Float[Tensor, "b q q"]) -> PairMoments:
        """The pair moments of the inner link, times scale^2."""
        return PairMoments(*(self.scale * (self.scale * E) for E in self.link.pair_moments(m, v, c)))

    def scaled_pair_moments(
        self,
        m: Float[Tensor, "b q"],
        v: Float[Tensor, "b q"],
        c: Float[Tensor, "b q q"],
        unit: Float[Tensor, " b"],
    ) -> PairMoments:
        if self.scale == 0:
            return PairMoments(*(torch.zeros_like(c) for _ in range(4)))
        return self.link.scaled_pair_moments(m, v, c, unit / abs(self.scale))
