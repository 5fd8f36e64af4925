"""Kernels in the form of the page. Others are refused with the reason that the page prints."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.kernels import (
    RBF,
    ActiveDimensions,
    Constant,
    Kernel,
    Linear,
    Matern32,
    Matern52,
    Periodic,
    Polynomial,
    Product,
    RadialPeriodic,
    RationalQuadratic,
    Scale,
    Sum,
)

STATIONARY: dict[type[Kernel], str] = {
    RBF: "rbf",
    Matern32: "matern32",
    Matern52: "matern52",
    RationalQuadratic: "rational_quadratic",
    RadialPeriodic: "radial_periodic",
}


class NotLiveError(Exception):
    """A model has a report but no sliders; the message is the reason, which continues "since ..."."""


def kernel_spec(kernel: Kernel, features: list[int]) -> dict[str, Any]:
    """A kernel of these features, as JSON.

    Raises:
        NotLiveError: if the page cannot evaluate the kernel.
    """
    if isinstance(kernel, Scale):
        return {"type": "scale", "variance": float(kernel.variance), "kernel": kernel_spec(kernel.kernel, features)}
    if isinstance(kernel, Sum | Product):
        name = "sum" if isinstance(kernel, Sum) else "product"
        return {"type": name, "kernels": [kernel_spec(part, features) for part in kernel.kernels]}
    if isinstance(kernel, ActiveDimensions):
        return kernel_spec(kernel.kernel, [features[i] for i in kernel.dims.tolist()])
    return {**_leaf(kernel, len(features)), "dims": features}


def _leaf(kernel: Kernel, d: int) -> dict[str, Any]:
    def each(parameter: Float[Tensor, " #d"]) -> list[float]:
        return parameter.expand(d).tolist()

    if type(kernel) in STATIONARY:
        assert isinstance(kernel, RBF | Matern32 | Matern52 | RationalQuadratic | RadialPeriodic)
        spec: dict[str, Any] = {"type": STATIONARY[type(kernel)], "lengthscale": each(kernel.lengthscale)}
        if isinstance(kernel, RationalQuadratic):
            spec["alpha"] = float(kernel.alpha)
        return spec | ({"width": float(kernel.width)} if isinstance(kernel, RadialPeriodic) else {})
    if isinstance(kernel, Linear):
        return {"type": "dot_product", "variance": each(kernel.variance), "offset": 0.0, "power": 1}
    if isinstance(kernel, Polynomial):
        offset, power = float(kernel.offset), kernel.power
        return {"type": "dot_product", "variance": each(kernel.variance), "offset": offset, "power": power}
    if isinstance(kernel, Periodic):
        return {"type": "periodic", "lengthscale": each(kernel.lengthscale), "period": each(kernel.period)}
    if isinstance(kernel, Constant):
        return {"type": "constant", "variance": float(kernel.variance)}
    raise NotLiveError(
        f"its kernel {type(kernel).__name__} is not one that the page evaluates (RBF, Matern 3/2 and 5/2, rational "
        "quadratic, linear, polynomial, periodic, constant, and their sums and products)"
    )
