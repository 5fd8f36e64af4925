"""The distance of points to the data that a process was fitted to (MATH 1)."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.processes.curved import Curved
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed


def distance_to_data(process: Process, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"] | None:
    """The path length (4.6) from each point to the nearest support point, in lengthscales (1.16).

    Support points are the training rows of an exact model, and the inducing points of a sparse one. For several latent
    functions, the largest distance. None for gplens.Functions, which have no data, and for kernels whose path length
    has no formula and would be expensive.
    """
    if isinstance(process, Posterior):
        return None if process.kernel.autograd else _to_nearest(process, X)
    if isinstance(process, Transformed):
        return distance_to_data(process.base, process.map(X))
    if isinstance(process, Curved):
        return distance_to_data(process.base, process.phi(X))
    if isinstance(process, Mix):
        return distance_to_data(process.base, X)
    if isinstance(process, Stack):
        parts = [distance_to_data(part, X) for part in process.parts]
        distances = [part for part in parts if part is not None]
        return torch.stack(distances).amax(0) if len(distances) == len(parts) else None
    return None


def _to_nearest(posterior: Posterior, X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
    """Point by point, since each point has a line to every support point."""
    none = posterior.Z.new_zeros(len(posterior.Z), 0)
    lengths = [posterior.length(Line(x[None], posterior.Z - x, none)).amin() for x in X]
    return torch.stack(lengths)
