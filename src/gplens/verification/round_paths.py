"""Cyclic columns: coordinates in which arcs are straight, for the host too."""

from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Reading
from gplens.processes.arcs import Arcs
from gplens.processes.process import Marginals
from gplens.verification.host import Host


@final
@dataclass(frozen=True)
class Polar:
    """A radius and an angle in the place of each pair (cos, sin) of inputs, as `explain` takes them (MATH 1.13)."""

    pairs: tuple[tuple[int, int], ...]

    def inputs(self, points: Float[Tensor, "k d"]) -> Float[Tensor, "k d"]:
        """The inputs of the model at points in these coordinates: real and imaginary parts of r exp(i a)."""
        inputs = points.clone()
        for first, second in self.pairs:
            z = torch.polar(points[:, first].abs(), points[:, second]) * points[:, first].sign()
            inputs[:, first], inputs[:, second] = z.real, z.imag
        return inputs

    def host(self, host: Host) -> Host:
        """The host as a function of these coordinates."""
        predict, joint = host.predict, host.joint
        return replace(
            host,
            predict=None if predict is None else lambda X: predict(self.inputs(X)),
            joint=None if joint is None else lambda X: joint(self.inputs(X)),
        )

    def reading(self, reading: Reading) -> Reading:
        """The process of these coordinates, which `explain` integrates, compared with the model at its own inputs."""

        def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
            return tuple(reading.compare(self.inputs(points), at))

        curved = Arcs(reading.process.features, self.pairs).process(reading.process)
        return replace(reading, process=curved, compare=compare)


def straightened(
    pairs: tuple[tuple[int, int], ...], x: Float[Tensor, "b d"], x0: Float[Tensor, "b d"]
) -> tuple[Polar | None, Float[Tensor, "b d"], Float[Tensor, "b d"]]:
    """Inputs and baselines in coordinates in which their paths are straight; None if these are the inputs."""
    ends = Arcs(x.shape[1], pairs).ends(x, x0[:, None]) if pairs else None
    return (None, x, x0) if ends is None else (Polar(pairs), ends[0], ends[1][:, 0])
