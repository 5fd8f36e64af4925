"""Attributions of class probabilities by several methods, for the same model: ours, gradient x input, Captum."""

from importlib.util import find_spec
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

import gplens
from gplens.estimators import GPClassifier
from gplens.processes.process import Process
from gplens.rules import RiemannRight, Rule

DRAWS = 256
"""Of the latent values behind a probability, for Captum: autograd has no expected softmax."""
ROWS = 512
"""Points of paths that Captum takes at once."""

Images = Float[Tensor, "b d"]
Labels = Int[Tensor, " b"]


def check_captum() -> None:
    """Say what is missing before the work rather than after it."""
    if find_spec("captum") is None:
        raise ImportError('The comparison with Captum needs captum: pip install "gplens[captum]".')


def integrated_gradients(process: Process, X: Images, labels: Labels, rule: Rule | None = None) -> Images:
    """Of the expected probability of each image's own class, relative to black; exact to the default tolerance."""
    values = torch.zeros_like(X)
    for label in labels.unique().tolist():
        own = labels == label
        softmax = gplens.links.Softmax()
        found = gplens.explain(process, X[own], baseline=0.0, likelihood=softmax, outputs=[label], rule=rule)
        values[own] = found.values[:, 0]
    return values


def gradient_times_input(process: Process, X: Images, labels: Labels) -> Images:
    """x_k d_k T(x): the Riemann sum with the single node t = 1, for a baseline of zero."""
    return integrated_gradients(process, X, labels, RiemannRight(1))


def captum(model: GPClassifier, X: Images, labels: Labels, seed: int) -> Images:
    """Captum's IntegratedGradients as it comes, 50 steps of autograd through GPyTorch, softmax averaged over draws."""
    from captum.attr import IntegratedGradients

    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(DRAWS, 1, len(model.classes_), generator=generator, dtype=X.dtype)
    host: Any = model.model_

    def probabilities(x: Tensor) -> Tensor:
        f = host(x)
        return torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)

    found: Any = IntegratedGradients(probabilities).attribute(
        X, torch.zeros_like(X), target=labels, internal_batch_size=ROWS
    )
    return found.detach()
