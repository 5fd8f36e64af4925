"""Integrated Gradients from the definition: autograd at the nodes of a composite Gauss-Legendre rule."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Function = Callable[[Tensor], Tensor]


def nodes(order: int, panels: int) -> tuple[Tensor, Tensor]:
    """t and w on [0, 1]: `order` Gauss nodes on each of `panels` equal pieces."""
    t, w = np.polynomial.legendre.leggauss(order)
    t = (np.arange(panels)[:, None] + (t + 1) / 2) / panels
    return torch.as_tensor(t.ravel()), torch.as_tensor(np.tile(w / 2, panels) / panels)


def integrated_gradients(T: Function, x: Tensor, x0: Tensor, *, order: int = 20, panels: int = 12) -> Tensor:
    """d_k int d_k T(x0 + t d) dt for every row of x: (b, d), or (b, c, d) where T has c outputs."""
    return torch.stack([_attribution(T, row, x0, order, panels) for row in x])


def _attribution(T: Function, x: Tensor, x0: Tensor, order: int, panels: int) -> Tensor:
    t, w = nodes(order, panels)
    points = (x0 + t[:, None] * (x - x0)).requires_grad_()
    with torch.enable_grad():
        values = T(points)
        outputs = values[:, None] if values.ndim == 1 else values
        gradients = [torch.autograd.grad(out.sum(), points, retain_graph=True)[0] for out in outputs.unbind(1)]
    integrals = [(x - x0) * (w @ gradient) for gradient in gradients]
    return integrals[0] if values.ndim == 1 else torch.stack(integrals)
