"""The posterior deviation of a prediction at points."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.processes.process import Process

NODES = 64
"""Gauss-Hermite nodes."""


def deviation_at(
    process: Process, expectation: Expectation, outputs: tuple[int, ...], X: Float[Tensor, "b d"]
) -> Float[Tensor, "b o"] | None:
    """Var[g(f)]^1/2, f ~ N(m, v), of outputs that are E g(f) of one latent function each; None for other outputs.

    Computed with 64 Gauss-Hermite nodes, which are exact for polynomials such as the identity and the square.
    """
    links = [expectation.link_of(output) for output in outputs]
    marginals = process.along(Line.at(X))
    z, w = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(NODES))
    w = w / w.sum()
    columns = []
    for output, link in zip(outputs, links, strict=True):
        if link is None:
            return None
        g = link(marginals.m[:, output] + marginals.v[:, output].sqrt() * z)
        columns.append(((g - (g @ w)[:, None]).square() @ w).sqrt())
    return torch.stack(columns, dim=1)
