"""The canonical posterior that every fitted Gaussian process turns into (MATH 1)."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gplens.kernels import Kernel
from gplens.kernels.kernel import check_kernel
from gplens.lines.forms import Quadratic
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs, SplitPairs
from gplens.means import ConstantMean, Mean
from gplens.processes.posterior_along import PosteriorMarginals, posterior_pairs, posterior_split_pairs
from gplens.processes.process import Blocks, Marginals, Process
from gplens.processes.radial_posteriors import RadialPosteriors

SMALL = 4096
"""The most numbers of a tensor that is copied, to notice a change in place."""


@final
class Posterior(Process):
    """c latent functions that share a kernel and support points Z.

    m(x)    = mu(x) + k(x,Z) beta                      (1.1)
    v(x)    = k(x,x) - k(x,Z) A k(Z,x) + jitter        (1.2)
    c(x,x') = k(x,x') - k(x,Z) A k(Z,x')               (1.3)

    For other numbers create another one: `gplens.explain` refuses a posterior whose tensors were changed in place.

    Args:
        kernel: k.
        Z: the support points, (n, d): training inputs of an exact GP, inducing points of a sparse one.
        beta: (n,), or (c, n) for c latent functions.
        A: (n, n) or (c, n, n), symmetric; or a `Quadratic`, which keeps more digits of the variance. It is copied.
        mean: mu, a single one or one for each latent function. None is zero.
        jitter: what the host library adds to the variance that it predicts.

    Raises:
        TypeError: if a tensor is not float64, or the kernel is not one of gplens.
        ValueError: if shapes do not match or an entry is not finite.

    Example:
        >>> points, outcomes = torch.eye(2).double(), torch.tensor([0.0, 1.0]).double()
        >>> posterior = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2)), points, outcomes, noise=0.1)
        >>> posterior.latents, posterior.features
        (1, 2)
    """

    def __init__(
        self,
        kernel: Kernel,
        Z: Float[Tensor, "n d"],
        beta: Float[Tensor, "*c n"],
        A: Float[Tensor, "*a n n"] | Quadratic,
        mean: Mean | Sequence[Mean] | None = None,
        *,
        jitter: float | int = 0.0,
    ) -> None:
        check_kernel(kernel)
        self.kernel, self.Z, self.jitter = kernel, Z, jitter
        self.beta = beta if beta.ndim == 2 else beta[None]
        self.A = A if isinstance(A, Quadratic) else Quadratic.dense(A if A.ndim == 3 else A[None])
        self.means = _one_per_latent(mean, self.latents)
        self._check()
        self.support = kernel.prepare(Z)
        self.A = replace(self.A, prior=float(kernel.diagonal(Z).max()))
        self.created = self._marks()

    @staticmethod
    def exact(
        kernel: Kernel, X: Float[Tensor, "n d"], y: Float[Tensor, " n"], *, noise: float | int, mean: Mean | None = None
    ) -> "Posterior":
        """f given y = f(X) + N(0, noise):  beta = (K + noise I)^-1 (y - mu),  A = (K + noise I)^-1  (1.9).

        `kernel` and `mean` are those of the prior, X and y in float64. A ValueError if the noise is not above zero.

        Example:
            >>> kernel = gplens.kernels.RBF(torch.ones(2))
            >>> gplens.Posterior.exact(kernel, X, y, noise=0.01, mean=gplens.means.ConstantMean(1.0)).latents
            1
        """
        if noise <= 0:
            raise ValueError(f"expected a noise variance > 0, got noise={noise}.")
        if y.shape != X.shape[:1]:
            raise ValueError(f"expected {X.shape[0]} targets, one for each row of X, got y of shape {tuple(y.shape)}.")
        check_kernel(kernel)
        kernel.prepare(X)  # refuses a kernel of another number of features
        mu = ConstantMean(0.0) if mean is None else mean
        eye = torch.eye(len(X), dtype=X.dtype)
        L = torch.linalg.cholesky(kernel(X, X) + noise * eye)
        F = torch.linalg.solve_triangular(L, eye, upper=False)
        beta = torch.cholesky_solve((y - mu(X))[:, None], L)[:, 0]
        return Posterior(kernel, X, beta, Quadratic(F[None], torch.ones_like(y)[None]), mu)

    @staticmethod
    def from_arrays(
        kernel: Kernel,
        Z: Any,
        beta: Any,
        A: Any,
        *,
        mean: Mean | Sequence[Mean] | None = None,
        jitter: float | int = 0.0,
    ) -> "Posterior":
        """A posterior from arrays of any library that numpy can read; they are converted to float64.

        kernel, Z, beta, A, mean, jitter and the errors are those of `Posterior`. docs/HOSTS.md shows Z, beta and A for
        models of GPflow and GPJax.

        Example:
            >>> kernel = gplens.kernels.RBF(torch.ones(1))
            >>> posterior = gplens.Posterior.from_arrays(kernel, Z=[[0.0]], beta=[2.0], A=[[0.5]])
            >>> posterior.m(torch.zeros(1, 1).double()).item(), posterior.v(torch.zeros(1, 1).double()).item()
            (2.0, 0.5)
        """
        Z, beta, A = (torch.tensor(np.asarray(array, dtype=np.float64)) for array in (Z, beta, A))
        if Z.ndim != 2 or beta.ndim not in (1, 2) or A.ndim not in (2, 3) or A.shape[-1] != A.shape[-2]:
            got = f"{tuple(Z.shape)}, {tuple(beta.shape)} and {tuple(A.shape)}"
            raise ValueError(
                f"expected Z of shape (n, d), beta (n,) or (c, n), and A (n, n) or (c, n, n), got shapes {got}."
            )
        return Posterior(kernel, Z, beta, A, mean, jitter=jitter)

    def _check(self) -> None:
        dtypes = {"Z": self.Z.dtype, "beta": self.beta.dtype, "A": self.A.F.dtype}
        if any(dtype != torch.float64 for dtype in dtypes.values()):
            raise TypeError(f"expected Z, beta and A in float64, got {dtypes}. Call .double() on them.")
        n, c = self.Z.shape[0], self.latents
        if self.beta.shape[1] != n or self.A.F.shape[2] != n:
            got = f"beta with {self.beta.shape[1]}, A with {self.A.F.shape[2]}"
            raise ValueError(f"expected beta and A for the {n} support points of Z, got {got}.")
        if self.A.s.shape[0] not in (1, c) or len(self.means) != c:
            got = f"{self.A.s.shape[0]} matrices A and {len(self.means)} means"
            raise ValueError(f"expected one A and one mean, or {c} of each (beta has {c} rows), got {got}.")
        for name, tensor in {"Z": self.Z, "beta": self.beta, "A": self.A.F, "A's eigenvalues": self.A.s}.items():
            if bad := int((~tensor.isfinite()).sum()):
                raise ValueError(f"expected finite numbers, got {bad} entries of {name} that are not.")

    def changed(self) -> str | None:
        """The name of a tensor that was changed in place since this object was created; None if none was."""
        now = self._marks()
        for name, marks in self.created.items():
            if name not in now or not all(map(torch.equal, marks, now[name])):
                return name
        return None

    def _marks(self) -> dict[str, tuple[Tensor, ...]]:
        """Copies of the small tensors that this object is made from, and sums of the bits of the large ones."""
        tensors = {"Z": self.Z, "beta": self.beta, "A.F": self.A.F, "A.s": self.A.s}
        for i, part in enumerate((self.kernel, *self.means)):
            tensors |= _tensors_of(type(part).__name__ if i == 0 else f"means[{i - 1}]", part)
        return {name: _mark(tensor.detach()) for name, tensor in tensors.items()}

    @property
    def latents(self) -> int:
        return self.beta.shape[0]

    @property
    def features(self) -> int:
        return self.Z.shape[1]

    @property
    def autograd(self) -> bool:
        return self.kernel.autograd or any(mean.autograd for mean in self.means)

    @property
    def smooth(self) -> bool:
        return all(part.smooth for part in self.kernel.parts())

    @property
    def categories(self) -> Blocks:
        return tuple((column,) for column in self.kernel.categories(self.Z))

    def kinks(self, line: Line) -> Float[Tensor, "b k"]:
        return self.kernel.kinks(line, self.Z)

    @property
    def width(self) -> int:
        """Half of the numbers of k(x, z) if it is held with its slope and a product with A alone; else k(x, z) with its
        temporaries, half as many numbers again for each latent function, and with autograd the gradients."""
        n, d = self.Z.shape
        if self.radial is not None:
            return -(-n // 2)
        return n * (3 + self.latents) // 2 + (n * d if self.autograd else 0)

    @cached_property
    def radial(self) -> RadialPosteriors | None:
        """The same posterior with the faster formulas for a single stationary kernel; None if they do not apply."""
        return RadialPosteriors.of((self,))

    def along(self, line: Line) -> Marginals:
        radial = None if self.radial is None else self.radial.along(line)
        return PosteriorMarginals(self, line) if radial is None else radial

    def length(self, line: Line) -> Float[Tensor, " b"]:
        return self.kernel.length(line)

    def prior_variance(self, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"]:
        return (self.kernel.diagonal(X) + self.jitter)[:, None].expand(-1, self.latents)

    def pairs(self, left: Line, right: Line, latent: int) -> Pairs:
        return posterior_pairs(self, left, right, latent)

    def split_pairs(self, line: Line, latent: int) -> SplitPairs:
        return posterior_split_pairs(self, line, latent)

    def select(self, latents: tuple[int, ...]) -> "Posterior":
        index, means = list(latents), [self.means[i] for i in latents]
        F, s = (part if len(part) == 1 else part[index] for part in (self.A.F, self.A.s))
        return Posterior(self.kernel, self.Z, self.beta[index], Quadratic(F, s), means, jitter=self.jitter)

    def c(self, X: Float[Tensor, "b d"], Y: Float[Tensor, "m d"]) -> Float[Tensor, "b c m"]:
        """The covariance between points  (1.3)."""
        A_k = self.A.product(self.kernel(Y, self.Z)[None]).A_k[0]
        return (self.kernel(X, Y) - self.kernel(X, self.Z) @ A_k.mT).transpose(0, 1).expand(-1, self.latents, -1)

    def c_gradient(self, X: Float[Tensor, "b d"], Y: Float[Tensor, "m d"]) -> Float[Tensor, "b c m d"]:
        """Cov(d_k f(x), f(y)) = d_k k(x,y) - d_k k(x,Z) A k(Z,y)  (1.6): one pull-back through [Z, Y]."""
        A_k = self.A.product(self.kernel(Y, self.Z)[None]).A_k[0].expand(self.latents, -1, -1)
        identity = torch.eye(Y.shape[0], dtype=X.dtype).expand(self.latents, -1, -1)
        W = torch.cat([-A_k, identity], dim=2).flatten(0, 1)[None, :, None]
        section = self.kernel.along(Line.at(X), torch.cat([self.Z, Y]))
        return section.by_node(W.expand(X.shape[0], -1, -1, -1))[:, :, 0].unflatten(1, (self.latents, Y.shape[0]))

    def _repr_html_(self) -> str:
        from gplens.processes.posterior_card import describe_html

        return describe_html(self)


def _one_per_latent(mean: Mean | Sequence[Mean] | None, latents: int) -> tuple[Mean, ...]:
    mean = ConstantMean(0.0) if mean is None else mean
    return (mean,) * latents if isinstance(mean, Mean) else tuple(mean)


def _tensors_of(name: str, part: Any) -> dict[str, Tensor]:
    """The tensors of a kernel or mean and of those that it is made of."""
    if isinstance(part, Tensor):
        return {name: part}
    if isinstance(part, tuple):
        return {key: value for i, inner in enumerate(part) for key, value in _tensors_of(f"{name}[{i}]", inner).items()}
    if not is_dataclass(part) or isinstance(part, type):
        return {}
    held = [(field.name, getattr(part, field.name)) for field in fields(part)]
    return {key: value for inner, value in held for key, value in _tensors_of(f"{name}.{inner}", value).items()}


def _mark(tensor: Tensor) -> tuple[Tensor, ...]:
    """A copy, or sums of the bits over two axes: sums of integers, which no order of summation changes."""
    if tensor.numel() <= SMALL or tensor.ndim < 2:
        return (tensor.clone(),)
    bits = tensor.double().view(torch.int64)
    return bits.sum(-1), bits.sum(-2)
