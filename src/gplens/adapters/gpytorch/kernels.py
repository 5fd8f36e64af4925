"""GPyTorch's kernels, translated by their exact type; any other one goes through autograd."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gpytorch.kernels as host
import torch
from jaxtyping import Float
from torch import Tensor

from gplens import kernels


def translate(kernel: host.Kernel, index: int, features: int) -> kernels.Kernel:
    """The kernel of latent function `index`, its parameters in the dtype that the host's copy has.

    Subclasses are not taken for their parents: what they change cannot be seen from here.
    """
    rule = TRANSLATIONS.get(type(kernel))
    if rule is None:
        return by_autograd(kernel, index)
    active: Any = kernel.active_dims
    if active is None:
        return rule(kernel, index, features)
    return kernels.ActiveDimensions(rule(kernel, index, len(active)), active)


def by_autograd(kernel: host.Kernel, index: int) -> kernels.Autograd:
    """The host's own kernel as a black box."""
    for part in kernel.modules():
        check_smooth(part)
    own = kernel[index] if len(kernel.batch_shape) else kernel

    def pairs(X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return own(X, Z).to_dense()

    def variance(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.as_tensor(own(X, diag=True))

    return kernels.Autograd(pairs, variance, type(kernel).__name__)


def own(parameter: Tensor, index: int, event: int) -> Tensor:
    """The parameter of latent function `index`: its last `event` axes; a shared one has no or a trivial batch."""
    if parameter.ndim - event > 1:
        raise ValueError(
            f"A kernel parameter has batch shape {tuple(parameter.shape[: parameter.ndim - event])}; at most one "
            "batch axis (the latent functions) is understood. Split the model into one per batch."
        )
    if parameter.ndim == event:
        return parameter
    return parameter[index if parameter.shape[0] > 1 else 0]


def _vector(parameter: Tensor, index: int, features: int) -> Float[Tensor, " d"]:
    return own(parameter, index, 2)[0].expand(features)


def _scalar(parameter: Tensor, index: int) -> Float[Tensor, ""]:
    return own(parameter, index, 1).reshape(())


def _rbf(kernel: host.RBFKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.RBF(_vector(kernel.lengthscale, index, features))


def _matern(kernel: host.MaternKernel, index: int, features: int) -> kernels.Kernel:
    check_smooth(kernel)
    smooth = {1.5: kernels.Matern32, 2.5: kernels.Matern52}
    return smooth[kernel.nu](_vector(kernel.lengthscale, index, features))


def check_smooth(kernel: torch.nn.Module) -> None:
    """Refuse the host's kernels whose functions have no derivative, wherever they are hidden."""
    if isinstance(kernel, host.MaternKernel) and kernel.nu < 1:
        rough, smooth = f"MaternKernel(nu={kernel.nu})", "nu=1.5 or nu=2.5"
    elif isinstance(kernel, host.PiecewisePolynomialKernel) and kernel.q == 0:
        rough, smooth = "PiecewisePolynomialKernel(q=0)", "q=1, 2 or 3"
    else:
        return
    raise ValueError(
        f"{rough} has no derivative at its support points, and its functions have none anywhere, so that Integrated "
        f"Gradients does not exist for it. Fit the model with {smooth}."
    )


def _rq(kernel: host.RQKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.RationalQuadratic(_vector(kernel.lengthscale, index, features), _scalar(kernel.alpha, index))


def _linear(kernel: host.LinearKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Linear(_vector(kernel.variance, index, features))


def _polynomial(kernel: host.PolynomialKernel, index: int, features: int) -> kernels.Kernel:
    one = torch.ones(features, dtype=kernel.offset.dtype)
    return kernels.Polynomial(one, _scalar(kernel.offset, index), int(kernel.power))


def _periodic(kernel: host.PeriodicKernel, index: int, features: int) -> kernels.Kernel:
    lengthscale, period = (_vector(p, index, features) for p in (kernel.lengthscale, kernel.period_length))
    return kernels.Periodic(lengthscale, period)


def _cosine(kernel: host.CosineKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Cosine(_vector(kernel.period_length, index, features))


def _constant(kernel: host.ConstantKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Constant(_scalar(kernel.constant, index))


def _scale(kernel: host.ScaleKernel, index: int, features: int) -> kernels.Kernel:
    base: Any = deepcopy(kernel.base_kernel)
    base.active_dims = None  # ScaleKernel selects its base's columns itself, and then skips the base's own selection
    return kernels.Scale(translate(base, index, features), own(kernel.outputscale, index, 0))


def _sum(kernel: host.AdditiveKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Sum(tuple(translate(part, index, features) for part in _parts(kernel)))


def _product(kernel: host.ProductKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Product(tuple(translate(part, index, features) for part in _parts(kernel)))


def _parts(kernel: host.AdditiveKernel | host.ProductKernel) -> list[host.Kernel]:
    return [part for part in kernel.kernels if isinstance(part, host.Kernel)]


def discrete(kernel: Any, index: int, features: int) -> kernels.Discrete:
    """A kernel of names, by the host's own values: that two names are the same has no formula to be had."""
    own = deepcopy(kernel[index] if len(kernel.batch_shape) else kernel)
    own.active_dims = None  # its columns are selected before it is asked

    def pairs(X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return own(X, Z).to_dense()

    def variance(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.as_tensor(own(X, diag=True))

    return kernels.Discrete(pairs, variance, type(kernel).__name__)


TRANSLATIONS: dict[type[host.Kernel], Callable[[Any, int, int], kernels.Kernel]] = {
    host.RBFKernel: _rbf,
    host.MaternKernel: _matern,
    host.RQKernel: _rq,
    host.LinearKernel: _linear,
    host.PolynomialKernel: _polynomial,
    host.PeriodicKernel: _periodic,
    host.CosineKernel: _cosine,
    host.ConstantKernel: _constant,
    host.ScaleKernel: _scale,
    host.AdditiveKernel: _sum,
    host.ProductKernel: _product,
    host.IndexKernel: discrete,
}
