"""FunctionTransformer: numpy functions with a known derivative, and others by complex-step differentiation."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer
from torch import Tensor

from gplens.adapters.sklearn.plans import INSTEAD, StepPlan, plan_of
from gplens.processes.crossings import Levels
from gplens.processes.smooth_map import MapJet, SmoothMap
from gplens.processes.transformed import AffineMap

Array = NDArray[Any]
Function = Callable[[Any], Any]

SLOPES: dict[Any, Callable[[Array], Array]] = {
    np.log: lambda x: 1 / x,
    np.log1p: lambda x: 1 / (1 + x),
    np.log2: lambda x: 1 / (x * np.log(2)),
    np.log10: lambda x: 1 / (x * np.log(10)),
    np.exp: np.exp,
    np.expm1: np.exp,
    np.sqrt: lambda x: 0.5 / np.sqrt(x),
    np.cbrt: lambda x: 1 / (3 * np.cbrt(x) ** 2),
    np.square: lambda x: 2 * x,
    np.reciprocal: lambda x: -1 / x**2,
    np.negative: lambda x: -np.ones_like(x),
    np.sin: np.cos,
    np.cos: lambda x: -np.sin(x),
    np.tan: lambda x: 1 / np.cos(x) ** 2,
    np.arctan: lambda x: 1 / (1 + x**2),
    np.sinh: np.cosh,
    np.cosh: np.sinh,
    np.tanh: lambda x: 1 / np.cosh(x) ** 2,
    np.arcsinh: lambda x: 1 / np.sqrt(1 + x**2),
    np.abs: np.sign,
    scipy.special.expit: lambda x: scipy.special.expit(x) * scipy.special.expit(-x),
    scipy.special.logit: lambda x: 1 / (x * (1 - x)),
}
"""Derivatives of functions that act on every number separately."""
CUTS: dict[Any, Tensor] = {np.abs: torch.zeros(1, dtype=torch.float64)}
"""The places where paths are cut: at a kink, and towards a place of infinite slope."""
CUTS[np.sqrt] = 4.0 ** torch.arange(-60, 20, dtype=torch.float64)
CUTS[np.cbrt] = torch.cat([-CUTS[np.sqrt].flip(0), CUTS[np.abs], CUTS[np.sqrt]])
STEP = 1e-100
"""The imaginary step: f'(x) = Im f(x + ih) / h has no cancellation, so that h may be as small as this."""
SAME = 1e-5
"""The largest difference between such a derivative and central differences, relative to the larger."""
JUMP = 0.02
"""The part of a change that 400 nodes may miss because of kinks; if they miss more, there is a jump."""
PROBES = np.random.default_rng(0).uniform(0.2, 0.8, size=(5, 1))
"""Numbers at which an unknown function is tried; logarithms, roots and logits are defined there."""


@plan_of.register
def _(step: FunctionTransformer, features: int) -> StepPlan:
    """The identity, a known function of numpy, one with a derivative by complex numbers, or one of a single column."""
    if step.func is None:
        return StepPlan.smooth(AffineMap.columns(features))
    function, names = _bound(step.func, step.kw_args), getattr(step, "feature_names_in_", None)
    if not step.kw_args and (formula := elementwise(step.func, features)) is not None:
        return StepPlan.smooth(formula)
    if isinstance(step.func, np.ufunc):
        return StepPlan.of_encoder(features, range(features), step, numeric=True)
    smooth = by_complex_step(function, features, None if names is None else [str(name) for name in names])
    if smooth is not None:
        return StepPlan.smooth(smooth)
    name = getattr(step.func, "__name__", repr(step.func))
    if features == 1:
        return StepPlan.of_encoder(
            1, [0] * len(step.get_feature_names_out([0])) if step.feature_names_out else [0], step
        )
    raise ValueError(
        f"expected a FunctionTransformer of a numpy function such as np.log1p, of one that takes complex numbers too, "
        f"or of a single column, got {name} of {features} columns, whose derivative is not known; give each column a "
        f"FunctionTransformer of its own, or {INSTEAD}"
    )


def _bound(function: Function, arguments: dict[str, Any] | None) -> Function:
    return (lambda X: function(X, **arguments)) if arguments else function


def elementwise(function: Function, features: int) -> SmoothMap | None:
    """A known function of every number; None for any other function."""
    slope = SLOPES.get(function)
    if slope is None:
        return None

    def both(x: Float[Tensor, "k d"]) -> tuple[Tensor, Tensor]:
        with np.errstate(all="ignore"):  # values that are not finite are refused later, with their place
            return torch.as_tensor(function(x.numpy())), torch.as_tensor(slope(x.numpy()))

    cuts = CUTS.get(function)
    return SmoothMap.elementwise(features, both, None if cuts is None else Levels(lambda x: x, (cuts,) * features))


def by_complex_step(function: Function, features: int, names: list[str] | None = None) -> SmoothMap | None:
    """A function of rows, with its Jacobian by complex numbers; None if it does not take them, or mixes rows.

    Derivatives are compared with central differences at a few points. A kink elsewhere is left to the adaptive rule.
    """

    def values(x: Array) -> Array:
        given: Any = x
        if names is not None:
            import pandas

            given = pandas.DataFrame(x, columns=names)
        with np.errstate(all="ignore"):
            return np.asarray(function(given)).reshape(len(x), -1)

    def jacobian(x: Array) -> Array:
        steps = 1j * STEP * np.eye(features)
        return np.stack([np.imag(values(x + step)) / STEP for step in steps], axis=2)

    depends = _probed(values, jacobian, features)
    if depends is None:
        return None

    def at(x: Float[Tensor, "k d"]) -> MapJet:
        given = x.numpy()
        return MapJet(torch.as_tensor(values(given).astype(np.float64)), lambda G: G @ torch.as_tensor(jacobian(given)))

    return SmoothMap(at, torch.as_tensor(depends))


def _probed(values: Function, jacobian: Function, features: int) -> Array | None:
    """Which outputs depend on which inputs; None if rows are not independent, or the derivative is wrong."""
    x = PROBES * np.linspace(0.9, 1.1, features)
    try:
        together, slopes = values(x), jacobian(x)
        alone = np.concatenate([values(row[None]) for row in x])
        h = 1e-5 * np.eye(features)
        differences = np.stack([(values(x + step) - values(x - step)) / 2e-5 for step in h], axis=2)
        jumps = _jumps(values, jacobian, x)
    except Exception:  # an unknown function may raise anything for such numbers
        return None
    if together.dtype.kind not in "biuf" or not np.isfinite(slopes).all() or together.shape != alone.shape:
        return None
    close = np.abs(slopes - differences) <= SAME * np.maximum(np.abs(differences), 1)
    if jumps or not close.all() or not np.allclose(together, alone, rtol=1e-12, atol=0):
        return None
    return np.ones((features, together.shape[1]), dtype=bool) if features > 1 else (slopes != 0).any(0).T


def _jumps(values: Function, jacobian: Function, x: Array) -> bool:
    """Whether the change of a function between two points far apart is not the integral of its slope."""
    t, w = np.polynomial.legendre.leggauss(400)
    start, d = x[:1], 40 * x[-1:] - x[:1]
    slopes = jacobian(start + (t[:, None] + 1) / 2 * d) @ d[0]
    change, integral = (values(start + d) - values(start))[0], w / 2 @ slopes
    size = np.maximum(np.abs(change), w / 2 @ np.abs(slopes)) + 1e-9 * np.abs(values(start))[0]
    return bool((np.abs(change - integral) > JUMP * size).any())
