"""GPyTorch's kernels and means, translated by their exact type; all others are evaluated by the host with autograd.

A subclass is not translated like its parent, because it may change anything.
"""

from collections.abc import Callable
from typing import Any

import gpytorch.kernels as host
import torch
from gpytorch import means as host_means
from jaxtyping import Float
from torch import Tensor

from gplens import kernels, means
from gplens.adapters.gpytorch.modules import shadow
from gplens.adapters.gpytorch.smoothness import check_differentiable
from gplens.adapters.gpytorch.structured import by_column, piecewise_polynomial


def translate_kernel(kernel: host.Kernel, index: int, features: int) -> kernels.Kernel:
    """The kernel of latent function `index`, from a shadow in float64."""
    rule = TRANSLATIONS.get(type(kernel))
    if rule is None:
        return _kernel_by_autograd(kernel, index)
    active: Any = kernel.active_dims
    if active is None:
        return rule(kernel, index, features)
    return kernels.ActiveDimensions(rule(kernel, index, len(active)), active)


def translate_mean(mean: Any, index: int) -> means.Mean:
    """The prior mean of latent function `index`, from a shadow in float64."""
    if type(mean) is host_means.ZeroMean:
        return means.ConstantMean(0.0)
    if type(mean) is host_means.ConstantMean:
        return means.ConstantMean(float(select_latent(torch.as_tensor(mean.constant), index, 0)))
    if type(mean) is host_means.LinearMean:
        bias = 0.0 if mean.bias is None else float(select_latent(mean.bias, index, 1))
        return means.LinearMean(select_latent(torch.as_tensor(mean.weights), index, 2)[:, 0], bias)

    def function(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        values = mean(X)
        return values if values.ndim == 1 else values[index if len(values) > 1 else 0]

    return means.AutogradMean(function)


def select_latent(parameter: Tensor, index: int, event: int) -> Tensor:
    """The parameter of latent function `index`: its last `event` axes. A shared one has no batch axis, or one of 1."""
    if parameter.ndim - event > 1:
        raise ValueError(
            f"expected a kernel parameter with at most one batch axis, the latent functions, got batch shape "
            f"{tuple(parameter.shape[: parameter.ndim - event])}; split the model into one per batch."
        )
    if parameter.ndim == event:
        return parameter
    return parameter[index if parameter.shape[0] > 1 else 0]


def _evaluated(kernel: Any) -> tuple[Callable[[Tensor, Tensor], Tensor], Callable[[Tensor], Tensor]]:
    """k(X, Z) and k(x, x) as the host computes them."""

    def pairs(X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return kernel(X, Z).to_dense()

    def variance(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.as_tensor(kernel(X, diag=True))

    return pairs, variance


def _kernel_by_autograd(kernel: host.Kernel, index: int) -> kernels.Autograd:
    for part in kernel.modules():
        check_differentiable(part)
    return kernels.Autograd(*_evaluated(_latent(kernel, index)), type(kernel).__name__)


def _latent(kernel: Any, index: int) -> Any:
    """The host's kernel of latent function `index`."""
    return kernel[index] if len(kernel.batch_shape) else kernel


def discrete(kernel: Any, index: int, features: int) -> kernels.Discrete:
    """A kernel of categories, evaluated by the host: whether two categories are equal has no derivative."""
    categories = _latent(_of_all_columns(kernel), index)  # GPyTorch would select from active_dims again
    return kernels.Discrete(*_evaluated(categories), type(kernel).__name__)


def _of_all_columns(kernel: Any) -> Any:
    """The same kernel without active_dims, for inputs whose columns were already selected."""
    replica = shadow(kernel)
    replica.active_dims = None
    return replica


def _vector(parameter: Tensor, index: int, features: int) -> Float[Tensor, " d"]:
    return select_latent(parameter, index, 2)[0].expand(features)


def _scalar(parameter: Tensor, index: int) -> Float[Tensor, ""]:
    return select_latent(parameter, index, 1).reshape(())


def _rbf(kernel: host.RBFKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.RBF(_vector(kernel.lengthscale, index, features))


def _matern(kernel: host.MaternKernel, index: int, features: int) -> kernels.Kernel:
    if kernel.nu < 1:
        check_differentiable(kernel)  # which refuses it
    smooth = {1.5: kernels.Matern32, 2.5: kernels.Matern52}
    return smooth[kernel.nu](_vector(kernel.lengthscale, index, features))


def _rq(kernel: host.RQKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.RationalQuadratic(_vector(kernel.lengthscale, index, features), _scalar(kernel.alpha, index))


def _linear(kernel: host.LinearKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Linear(_vector(kernel.variance, index, features))


def _polynomial(kernel: host.PolynomialKernel, index: int, features: int) -> kernels.Kernel:
    unit = torch.ones(features, dtype=kernel.offset.dtype)
    return kernels.Polynomial(unit, _scalar(kernel.offset, index), int(kernel.power))


def _periodic(kernel: host.PeriodicKernel, index: int, features: int) -> kernels.Kernel:
    lengthscale, period = (_vector(p, index, features) for p in (kernel.lengthscale, kernel.period_length))
    return kernels.Periodic(lengthscale, period)


def _cosine(kernel: host.CosineKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Cosine(_vector(kernel.period_length, index, features))


def _constant(kernel: host.ConstantKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Constant(_scalar(kernel.constant, index))


def _scale(kernel: host.ScaleKernel, index: int, features: int) -> kernels.Kernel:
    """ScaleKernel selects the columns of its base itself, and then skips the base's own selection."""
    base = translate_kernel(_of_all_columns(kernel.base_kernel), index, features)
    return kernels.Scale(base, select_latent(kernel.outputscale, index, 0))


def _sum(kernel: host.AdditiveKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Sum(_parts(kernel, index, features))


def _product(kernel: host.ProductKernel, index: int, features: int) -> kernels.Kernel:
    return kernels.Product(_parts(kernel, index, features))


def _parts(kernel: host.AdditiveKernel | host.ProductKernel, index: int, features: int) -> tuple[kernels.Kernel, ...]:
    parts = (part for part in kernel.kernels if isinstance(part, host.Kernel))
    return tuple(translate_kernel(part, index, features) for part in parts)


def _piecewise(kernel: host.PiecewisePolynomialKernel, index: int, features: int) -> kernels.Kernel:
    check_differentiable(kernel)
    return piecewise_polynomial(_vector(kernel.lengthscale, index, features), int(kernel.q))


def _arc(kernel: host.ArcKernel, index: int, features: int) -> kernels.Kernel:
    """Its base kernel, on two columns for each feature."""
    return kernels.Warped(translate_kernel(kernel.base_kernel, index, 2 * features), _latent(kernel, index).embedding)


def _additive_structure(kernel: host.AdditiveStructureKernel, index: int, features: int) -> kernels.Kernel:
    columns = by_column(translate_kernel(kernel.base_kernel, index, features), features)
    return _kernel_by_autograd(_of_all_columns(kernel), index) if columns is None else kernels.Sum(columns)


def _product_structure(kernel: host.ProductStructureKernel, index: int, features: int) -> kernels.Kernel:
    columns = by_column(translate_kernel(kernel.base_kernel, index, features), features)
    return _kernel_by_autograd(_of_all_columns(kernel), index) if columns is None else kernels.Product(columns)


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
    host.PiecewisePolynomialKernel: _piecewise,
    host.ArcKernel: _arc,
    host.AdditiveStructureKernel: _additive_structure,
    host.ProductStructureKernel: _product_structure,
    host.IndexKernel: discrete,
}
