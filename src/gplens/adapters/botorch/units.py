"""A posterior in other units of its outcome and its inputs."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

from gplens.kernels import Scale, Warped
from gplens.lines.quadratic import Quadratic
from gplens.means import AutogradMean, ConstantMean, LinearMean, Mean
from gplens.processes.posterior import Posterior


def rescaled(posterior: Posterior, scale: Float[Tensor, ""], shift: Float[Tensor, ""]) -> Posterior:
    """scale f + shift: s^2 k, beta/s, A/s^2, s mu + shift."""
    kernel, A = Scale(posterior.kernel, scale**2), posterior.A
    means = [_rescaled(mean, float(scale), float(shift)) for mean in posterior.means]
    jitter = posterior.jitter * float(scale) ** 2
    return Posterior(kernel, posterior.Z, posterior.beta / scale, Quadratic(A.F / scale, A.s), means, jitter=jitter)


def warped(
    posterior: Posterior, phi: Callable[[Float[Tensor, "k d"]], Float[Tensor, "k e"]], Z: Float[Tensor, "n d"]
) -> Posterior:
    """f(phi(x)) of raw inputs, where phi(Z) are the support points (MATH 1.11)."""
    means = [_warped(mean, phi) for mean in posterior.means]
    kernel = Warped(posterior.kernel, phi)
    return Posterior(kernel, Z, posterior.beta, posterior.A, means, jitter=posterior.jitter)


def _rescaled(mean: Mean, scale: float, shift: float) -> Mean:
    if isinstance(mean, ConstantMean):
        return ConstantMean(scale * mean.value + shift)
    if isinstance(mean, LinearMean):
        return LinearMean(scale * mean.weight, scale * mean.bias + shift)
    return AutogradMean(lambda X: scale * mean(X) + shift)


def _warped(mean: Mean, phi: Callable[[Tensor], Tensor]) -> Mean:
    return mean if isinstance(mean, ConstantMean) else AutogradMean(lambda X: mean(phi(X)))
