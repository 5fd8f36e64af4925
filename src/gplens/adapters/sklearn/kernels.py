"""scikit-learn's kernels, translated by their exact type.

A translated kernel is the covariance of two different points, where white noise is zero. None stands for a kernel
that is only noise: a term that is left out of a sum, and makes a product vanish.
"""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import sklearn.gaussian_process.kernels as host
import torch
from jaxtyping import Float
from torch import Tensor

from gplens import kernels
from gplens.adapters.sklearn.pairwise import translate_pairwise

Translated = kernels.Kernel | None


def translate(kernel: host.Kernel) -> Translated:
    """The same kernel of gplens. A subclass is refused, because it may change anything."""
    rule = TRANSLATIONS.get(type(kernel))
    if rule is None:
        raise ValueError(
            f"expected a kernel made of {', '.join(sorted(kind.__name__ for kind in TRANSLATIONS))}, got "
            f"{type(kernel).__name__}, whose numpy code has no derivative; write the kernel with torch and build the "
            "model as gplens.Posterior.from_arrays(gplens.kernels.Autograd(pairs, variance), Z, beta, A)."
        )
    return rule(kernel)


def has_noise(kernel: host.Kernel) -> bool:
    """Whether there is a WhiteKernel inside, at any depth."""
    inner = [part for part in vars(kernel).values() if isinstance(part, host.Kernel)]
    return isinstance(kernel, host.WhiteKernel) or any(has_noise(part) for part in inner)


def vector(value: Any) -> Float[Tensor, " d"]:
    """One number for each feature, or one for all."""
    return torch.tensor(np.atleast_1d(np.asarray(value, np.float64)))


def number(value: Any) -> Float[Tensor, ""]:
    """A parameter as a tensor."""
    return torch.tensor(float(value), dtype=torch.float64)


def _constant(kernel: host.ConstantKernel) -> Translated:
    return kernels.Constant(number(kernel.constant_value))


def _white(kernel: host.WhiteKernel) -> Translated:
    return None


def _rbf(kernel: host.RBF) -> Translated:
    return kernels.RBF(vector(kernel.length_scale))


def _matern(kernel: host.Matern) -> Translated:
    if kernel.nu <= 1:
        raise ValueError(
            f"expected a kernel whose functions have a derivative, got Matern(nu={kernel.nu}), for which Integrated "
            "Gradients does not exist; fit the model with nu=1.5 or nu=2.5."
        )
    scale, closed = vector(kernel.length_scale), {1.5: kernels.Matern32, 2.5: kernels.Matern52, inf: kernels.RBF}
    return closed[kernel.nu](scale) if kernel.nu in closed else kernels.Matern(scale, kernel.nu)


def _rational_quadratic(kernel: host.RationalQuadratic) -> Translated:
    return kernels.RationalQuadratic(vector(kernel.length_scale), number(kernel.alpha))


def _exp_sine_squared(kernel: host.ExpSineSquared) -> Translated:
    return kernels.RadialPeriodic(vector(kernel.periodicity), number(kernel.length_scale))


def _dot_product(kernel: host.DotProduct) -> Translated:
    return kernels.Polynomial(vector(1.0), number(kernel.sigma_0**2), 1)


def _sum(kernel: host.Sum) -> Translated:
    parts = [part for part in (translate(kernel.k1), translate(kernel.k2)) if part is not None]
    return kernels.Sum(tuple(parts)) if len(parts) == 2 else next(iter(parts), None)


def _product(kernel: host.Product) -> Translated:
    left, right = translate(kernel.k1), translate(kernel.k2)
    if left is None or right is None:
        return None
    for factor, other in ((left, right), (right, left)):
        if isinstance(factor, kernels.Constant):
            return kernels.Scale(other, factor.variance)
    return kernels.Product((left, right))


def _exponentiation(kernel: host.Exponentiation) -> Translated:
    inner = translate(kernel.kernel)
    return None if inner is None else kernels.Power(inner, kernel.exponent)


def _compound(kernel: host.CompoundKernel) -> Translated:
    raise ValueError(
        "expected a covariance, got a CompoundKernel, which is a list of kernels for several models; explain the "
        "models one by one."
    )


TRANSLATIONS: dict[type[host.Kernel], Callable[[Any], Translated]] = {
    host.ConstantKernel: _constant,
    host.WhiteKernel: _white,
    host.RBF: _rbf,
    host.Matern: _matern,
    host.RationalQuadratic: _rational_quadratic,
    host.ExpSineSquared: _exp_sine_squared,
    host.DotProduct: _dot_product,
    host.PairwiseKernel: translate_pairwise,
    host.Sum: _sum,
    host.Product: _product,
    host.Exponentiation: _exponentiation,
    host.CompoundKernel: _compound,
}
