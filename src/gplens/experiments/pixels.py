"""A model of images seen on some of their pixels, the others held fixed."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.kernels import RBF, Scale
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack


def on_pixels(process: Process, x: Float[Tensor, " d"], free: Bool[Tensor, " d"]) -> Process:
    """The process as a function of the free pixels alone, where the others are those of x; exactly the same numbers.

    The squared exponential is a product over pixels, so that k(x, z_n) = k_free(x, z_n) g_n with fixed g: hence (1.1),
    (1.2) with g beta for beta and g A g for A. Attributions of pixels that do not change are zero and need no work.
    """
    if isinstance(process, Stack):
        return Stack(tuple(on_pixels(part, x, free) for part in process.parts))
    if not isinstance(process, Posterior):
        raise TypeError(f"Got a {type(process).__name__}; wanted was a Posterior or a Stack of them.")
    kernel, lengthscale = squared_exponential(process)
    g = torch.exp(-(((x - process.Z) / lengthscale)[:, ~free] ** 2).sum(1) / 2)
    A = replace(process.A, F=process.A.F * g)
    own = Scale(RBF(lengthscale[free]), kernel.variance)
    return Posterior(own, process.Z[:, free], process.beta * g, A, process.means, jitter=process.jitter)


def squared_exponential(process: Posterior) -> tuple[Scale, Float[Tensor, " d"]]:
    """The kernel, variance times a squared exponential, and its lengthscales."""
    kernel = process.kernel
    if not isinstance(kernel, Scale) or not isinstance(kernel.kernel, RBF):
        raise TypeError(f"Got the kernel {kernel!r}; wanted was a scaled squared exponential.")
    return kernel, kernel.kernel.lengthscale.expand(process.features)
