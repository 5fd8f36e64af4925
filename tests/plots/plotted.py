"""Explanations to draw, and what is found on axes."""

from functools import cache
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.container import BarContainer

import gplens
from gplens import Explanation, Posterior, Spread
from gplens.baselines import Mean
from gplens.kernels import RBF, Scale
from gplens.links import Exp, Identity, Softmax

NAMES = ("hour", "temperature", "a$b$", "a name that is much too long to be written beside a bar", "wind")


@cache
def posterior(seed: int = 0, features: int = 5) -> Posterior:
    """Forty points, a kernel of moderate lengthscales."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(40, features, generator=generator, dtype=torch.float64)
    y = torch.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] - 0.3 * X[:, -1]
    lengthscale = torch.linspace(1.0, 3.0, features, dtype=torch.float64)
    return Posterior.exact(Scale(RBF(lengthscale), torch.tensor(1.7, dtype=torch.float64)), X, y, noise=0.05)


@cache
def stack() -> gplens.Stack:
    """Three latent functions for three classes."""
    return gplens.Stack(tuple(posterior(seed) for seed in range(3)))


def inputs(count: int, features: int = 5) -> torch.Tensor:
    return torch.randn(count, features, generator=torch.Generator().manual_seed(7), dtype=torch.float64)


@cache
def counts(uncertainty: Any = None, rows: int = 6) -> Explanation:
    """One output through the exp link."""
    X = inputs(rows)
    baseline = Mean(posterior().Z)
    return gplens.explain(
        posterior(), X, baseline=baseline, likelihood=Exp(), uncertainty=uncertainty, feature_names=NAMES
    )


@cache
def gaussian(uncertainty: Any = None) -> Explanation:
    """One output whose attributions are Gaussian."""
    options = {"likelihood": Identity(), "uncertainty": uncertainty, "feature_names": NAMES}
    return gplens.explain(posterior(), inputs(6), baseline=0.0, **options)


@cache
def classes(uncertainty: Any = None) -> Explanation:
    """Three outputs."""
    options = {"likelihood": Softmax(), "uncertainty": uncertainty, "feature_names": NAMES}
    return gplens.explain(stack(), inputs(4), baseline=0.1, **options)


def made(
    values: Any, std: Any = None, *, names: tuple[str, ...] | None = None, target: str = "Response()"
) -> Explanation:
    """An explanation with given numbers, (rows, features), that no model computed."""
    numbers = torch.as_tensor(values, dtype=torch.float64)
    b, d = numbers.shape
    inputs = torch.arange(float(b * d), dtype=torch.float64).reshape(b, d) % 7
    total = numbers.sum(1)
    return Explanation(
        values=numbers,
        prediction=total + 10,
        baseline_prediction=torch.full((b,), 10.0, dtype=torch.float64),
        gap=torch.zeros(b, dtype=torch.float64),
        error=None,
        nodes=torch.full((b,), 8),
        converged=None,
        inputs=inputs,
        baseline=torch.zeros(b, d, dtype=torch.float64),
        feature_names=names or tuple(f"x{k}" for k in range(d)),
        output_names=None,
        provenance=gplens.Provenance("Made", None, "Response()", "Zeros()", "none", 1e-6, "none", (), "0"),
        spread=None if std is None else Spread(torch.as_tensor(std, dtype=torch.float64), gaussian=True),
    )


def bars(ax: Axes) -> list[tuple[float, float, float]]:
    """Left end, width and middle height of every bar, in the order in which they were drawn."""
    patches = [patch for container in ax.containers if isinstance(container, BarContainer) for patch in container]
    return [(patch.get_x(), patch.get_width(), patch.get_y() + patch.get_height() / 2) for patch in patches]


def segments(ax: Axes, gid: str = "whiskers") -> np.ndarray:
    """The ends of all whiskers, (count, 2 ends, x and y)."""
    lines = [line for line in ax.collections if isinstance(line, LineCollection) and line.get_gid() == gid]
    return np.concatenate([np.array(line.get_segments()) for line in lines]) if lines else np.empty((0, 2, 2))


def labels(ax: Axes) -> list[str]:
    """The names of the rows, from the first."""
    return [text.get_text().replace(r"\$", "$") for text in ax.get_yticklabels()]


def texts(ax: Axes) -> list[str]:
    """What is written beside the marks."""
    return [text.get_text() for text in ax.texts]


def heading(ax: Axes) -> str:
    """Title and subtitle, whether they belong to the axes or to a figure of their own."""
    own = [text.get_text() for text in (*ax.figure.texts, *ax.texts) if text.get_gid() in ("title", "subtitle")]
    return " ".join([ax.get_title(loc="left"), *own]).replace("\n", " ")
