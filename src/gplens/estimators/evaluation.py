"""Predictions of a fitted estimator, from the same Posterior and the same expectations that gplens explains."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import read
from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.processes.process import Process

BLOCK = 2000
"""The most rows that are evaluated at once."""
PARTIALS = 2**23
"""The most partial derivatives at once (64 MB): an expectation has outputs x latent functions of them for each row."""


def read_process(model: Any, points: Float[Tensor, "k d"]) -> Process:
    """The process of a GPyTorch model, compared with its own prediction at some points."""
    reading = read(model, points=points)
    reading.compare(points, reading.process.along(Line.at(points)))
    return reading.process


@torch.inference_mode(False)
@torch.no_grad()
def evaluate(
    process: Process, expectations: Sequence[Expectation], X: Float[Tensor, "b d"]
) -> list[Float[Tensor, "b _"]]:
    """The outputs of each expectation at every row, in blocks of rows."""
    outputs = [tuple(range(expectation.count(process.latents))) for expectation in expectations]
    size = max(1, min(BLOCK, PARTIALS // (process.latents * max(map(len, outputs)))))
    blocks = []
    for rows in X.split(size):
        marginals = process.along(Line.at(rows))
        pairs = zip(expectations, outputs, strict=True)
        blocks.append([expectation.jet(marginals, which).value[:, :, 0] for expectation, which in pairs])
    return [torch.cat(values) for values in zip(*blocks, strict=True)]


@torch.inference_mode(False)
@torch.no_grad()
def marginals(process: Process, X: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b c"], Float[Tensor, "b c"]]:
    """m and v of every latent function at every row."""
    blocks = [process.along(Line.at(rows)) for rows in X.split(BLOCK)]
    return torch.cat([block.m[:, :, 0] for block in blocks]), torch.cat([block.v[:, :, 0] for block in blocks])


def log_expectation(log_p: Any, m: Float[Tensor, " b"], v: Float[Tensor, " b"], nodes: int) -> Float[Tensor, " b"]:
    """log E p(f), f ~ N(m, v), by Gauss-Hermite, for a function log_p of latent values (b, nodes)."""
    z, w = (torch.from_numpy(part) for part in np.polynomial.hermite_e.hermegauss(nodes))
    f = m[:, None] + v.sqrt()[:, None] * z
    return torch.logsumexp(log_p(f) + (w / w.sum()).log(), dim=1)
