"""Paths along arcs: pairs of inputs (cos, sin) in polar coordinates, in which an arc is straight (MATH 1.13)."""

from dataclasses import dataclass
from math import pi
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.processes.curved import Curved
from gplens.processes.process import Process
from gplens.processes.smooth_map import MapJet, SmoothMap

SAME = 1e-9
"""Angles (in turns) and radii that differ by less count as equal; float64 rounds a cosine by about 1e-16."""
Ends = tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]


@final
@dataclass(frozen=True)
class Arcs:
    """The pairs (cos, sin) among the inputs of a model."""

    features: int
    pairs: tuple[tuple[int, int], ...]

    def process(self, base: Process) -> Curved:
        """The same latent functions of radius and angle in place of each pair."""
        return Curved(base, self._map())

    def ends(self, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]) -> Ends | None:
        """Inputs and baselines in polar coordinates; None if no angle changes, so that all paths are straight anyway.

        The angle of a baseline is within half a turn of the angle of its input. At exactly half a turn both ways are
        equally long; the path then takes the one that does not pass the angle zero.
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

        def at(x: Float[Tensor, "k d"]) -> MapJet:
            radius, c, s = x[:, cos], x[:, sin].cos(), x[:, sin].sin()
            values = x.clone()
            values[:, cos], values[:, sin] = radius * c, radius * s

            def back(G: Float[Tensor, "k p d"]) -> Float[Tensor, "k p d"]:
                by_cos, by_sin, pulled = G[..., cos], G[..., sin], G.clone()
                pulled[..., cos] = by_cos * c[:, None] + by_sin * s[:, None]
                pulled[..., sin] = radius[:, None] * (by_sin * c[:, None] - by_cos * s[:, None])
                return pulled

            return MapJet(values, back)

        return SmoothMap(at, depends)


def _polar(x: Float[Tensor, "*b p"], y: Float[Tensor, "*b p"]) -> tuple[Float[Tensor, "*b p"], Float[Tensor, "*b p"]]:
    """Radius and angle in [0, 2 pi), rounded to a radius of one and an angle of zero where they differ by rounding."""
    radius, angle = torch.hypot(x, y), torch.atan2(y, x)
    angle = torch.where(angle < -SAME, angle + 2 * pi, angle.clamp(min=0.0))
    return torch.where((radius - 1).abs() <= SAME, 1.0, radius), angle
