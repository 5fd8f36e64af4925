"""Paths that go round: pairs of inputs (cos, sin) in polar coordinates, in which an arc is straight (MATH 1.13)."""

from dataclasses import dataclass
from math import pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.processes.curved import Curved
from gplens.processes.process import Process
from gplens.processes.smooth_map import Jet, SmoothMap

SAME = 1e-9
"""Turns and radii that differ by less are the same: float64 leaves some 1e-16 of a cosine."""
Ends = tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]


@final
@dataclass(frozen=True)
class Arcs:
    """The pairs (cos, sin) among the inputs of a model."""

    features: int
    pairs: tuple[tuple[int, int], ...]

    def process(self, base: Process) -> Curved:
        """The same latent functions of a radius and an angle in the place of each pair."""
        return Curved(base, self._map())

    def ends(self, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> Ends | None:
        """Inputs and baselines in these coordinates; None if no path goes round, so that all are straight anyway.

        The angle of a baseline is the one within half a turn of that of its input. At half a turn both ways are of
        one length: the path does not pass the angle zero, as the numbers between the two do not.
        """
        cos, sin = (list(place) for place in zip(*self.pairs, strict=True))
        radius, angle = _polar(X[:, cos], X[:, sin])
        own_radius, own_angle = _polar(baselines[..., cos], baselines[..., sin])
        turn = own_angle - angle[:, None]
        shorter = turn - 2 * pi * torch.round(turn / (2 * pi))
        turn = torch.where((turn.abs() - pi).abs() <= SAME, turn, shorter)  # (1.14)
        turn = torch.where(own_radius <= SAME, 0.0, turn)  # the centre has no angle
        if not bool((turn != 0).any()):
            return None
        end, start = X.clone(), baselines.expand(len(X), -1, -1).clone()
        end[:, cos], end[:, sin] = radius, angle
        start[..., cos], start[..., sin] = own_radius.expand_as(turn), angle[:, None] + turn
        return end, start

    def _map(self) -> SmoothMap:
        """(r, a) -> (r cos a, r sin a) for every pair; other columns as they are  (1.13)."""
        cos, sin = (list(place) for place in zip(*self.pairs, strict=True))
        depends = torch.eye(self.features, dtype=torch.bool)
        depends[cos, sin] = depends[sin, cos] = True

        def at(x: Float[Tensor, "k d"]) -> Jet:
            radius, c, s = x[:, cos], x[:, sin].cos(), x[:, sin].sin()
            values = x.clone()
            values[:, cos], values[:, sin] = radius * c, radius * s

            def back(G: Float[Tensor, "k p d"]) -> Float[Tensor, "k p d"]:
                by_cos, by_sin, pulled = G[..., cos], G[..., sin], G.clone()
                pulled[..., cos] = by_cos * c[:, None] + by_sin * s[:, None]
                pulled[..., sin] = radius[:, None] * (by_sin * c[:, None] - by_cos * s[:, None])
                return pulled

            return Jet(values, back)

        return SmoothMap(at, depends)


def _polar(x: Float[Tensor, "*b p"], y: Float[Tensor, "*b p"]) -> tuple[Float[Tensor, "*b p"], Float[Tensor, "*b p"]]:
    """Radius and angle in [0, 2 pi), with exact radii of one and angles of zero where only rounding is in the way."""
    radius, angle = torch.hypot(x, y), torch.atan2(y, x)
    angle = torch.where(angle < -SAME, angle + 2 * pi, angle.clamp(min=0.0))
    return torch.where((radius - 1).abs() <= SAME, 1.0, radius), angle
