"""Softmax as an average over draws: of correlated logits, and by plain Monte Carlo for comparison (MATH 3)."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from gplens.expectations.expectation import Expectation, Jet
from gplens.expectations.softmax.arguments import check_mixing, check_numbers
from gplens.processes.process import Marginals

CHUNK = 4_000_000
"""The most numbers in the draws and logits that are evaluated at once: 32 MB."""
SMALL = 1e-7
"""The sd below which the derivative in v is computed by second derivatives; the pathwise one would lose digits."""
SCRAMBLES = 8
"""Independent scramblings of a Sobol sequence."""
MOST = 2**14
"""The most draws of a replicate."""
BATCHES = 10
"""Replicates into which plain Monte Carlo splits its draws for a standard error."""


class SampledSoftmax(Expectation):
    """psi_c = E S_c(M f + N e), f_l ~ N(m_l, v_l) and e standard normal, all independent.

    psi is the average over replicates, each with a fixed set of draws that all inputs share. A replicate is a smooth
    function of (m, v), so that its attributions add up exactly; the spread of the replicates is the standard error.
    Output r * C + c of `jet` is class c of replicate r.
    """

    @property
    @abstractmethod
    def replicates(self) -> int: ...

    @property
    def independent(self) -> bool:
        return True

    @property
    def default_tolerance(self) -> float:
        """1e-4, because a standard error falls slowly."""
        return 1e-4

    @abstractmethod
    def draws(self, replicate: int, dims: int) -> Float[Tensor, "n l"]:
        """The standard normal draws of a replicate."""

    @abstractmethod
    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        """The weights M of the sources in each output  (1.8)."""

    def mixing_noise(self) -> Float[Tensor, "c k"] | None:
        """N; None if there is no noise on the logits."""
        return None

    def count(self, latents: int) -> int:
        classes = len(self.mixing(latents))
        if classes < 2:
            raise ValueError(f"{self!r}: expected two or more classes, got {classes}. For one use links.Sigmoid().")
        return classes

    def names(self, latents: int) -> tuple[str, ...]:
        return tuple(f"class {i}" for i in range(self.count(latents)))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        m, v = (tensor.movedim(1, 2) for tensor in (marginals.m, marginals.v))
        check_numbers(m, v)
        b, q, latents = m.shape
        C = self.count(latents)
        classes = {r: [output % C for output in outputs if output // C == r] for r in sorted({o // C for o in outputs})}
        parts = [self._replicate(r, m.flatten(0, 1), v.flatten(0, 1), chosen) for r, chosen in classes.items()]
        value, by_m, by_v = (torch.cat(group, dim=1).unflatten(0, (b, q)) for group in zip(*parts, strict=True))
        return Jet(value.mT, by_m.movedim(1, 3), by_v.movedim(1, 3))

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """S_c (M_cl - mu_l). `extra`, the host's jitter, changes it by no more than itself and is left out."""
        M = self.mixing(f.shape[1])
        S = torch.softmax(M @ f, dim=1)
        mu = M.T @ S
        return S[:, list(outputs), None] * (M[list(outputs)][:, :, None] - mu[:, None])

    def _replicate(
        self, r: int, m: Float[Tensor, "e l"], v: Float[Tensor, "e l"], classes: list[int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Averages over the draws of one replicate and their mirror images, in chunks of elements."""
        M, N = self.mixing(m.shape[1]), self.mixing_noise()
        draws = self.draws(r, m.shape[1] + (0 if N is None else N.shape[1]))
        draws = torch.cat([draws, -draws])  # mirrored, so that their mean is zero, as the derivative in v requires
        z, shift = draws[:, : m.shape[1]], 0.0 if N is None else draws[:, m.shape[1] :] @ N.T
        size = max(1, CHUNK // (len(z) * (2 * len(M) + 3 * M.shape[1])))
        chunks = zip(m.split(size), v.split(size), strict=True)
        parts = [_averages(*chunk, M, z, shift, classes) for chunk in chunks]
        value, by_m, by_v = (torch.cat(group) for group in zip(*parts, strict=True))
        return value, by_m, by_v


def _averages(
    m: Float[Tensor, "e l"],
    v: Float[Tensor, "e l"],
    M: Float[Tensor, "c l"],
    z: Float[Tensor, "n l"],
    shift: Float[Tensor, "n c"] | float,
    classes: list[int],
) -> tuple[Float[Tensor, "e o"], Float[Tensor, "e o l"], Float[Tensor, "e o l"]]:
    """The mean of S and its exact derivatives: dS_c/df_l = S_c (M_cl - mu_l), mu = S'M;  df_l/dv_l = z_l/(2 sd_l)."""
    sd, n = v.sqrt()[:, None], len(z)
    S = torch.softmax((m[:, None] + sd * z) @ M.T + shift, dim=2)
    mu, S_c, M_c = S @ M, S[:, :, classes].mT / n, M[classes]
    value, first = S_c.sum(2), S_c @ mu
    by_m = M_c * value[..., None] - first
    pathwise = (M_c * (S_c @ z) - S_c @ (mu * z)) / (2 * sd)  # (3.13)
    spread = S @ M**2 - 2 * mu**2
    second = (M_c**2 * value[..., None] - 2 * M_c * first - S_c @ spread) / 2  # (3.14)
    return value, by_m, torch.where(sd < SMALL, second, pathwise)


def sobol_normals(count: int, dims: int, seed: int) -> Float[Tensor, "n l"]:
    """Scrambled Sobol points as normals, shifted by half of the engine's resolution of 2^-30 to keep them off zero."""
    engine = SobolEngine(dims, scramble=True, seed=seed)
    return torch.special.ndtri(engine.draw(count, dtype=torch.float64) + 2.0**-31)


@final
@dataclass(frozen=True, eq=False)
class MixedSoftmax(SampledSoftmax):
    """Softmax of a linear mix of independent latent functions, by randomised quasi Monte Carlo.

    Replicates are independent scramblings of a Sobol sequence, determined by the seed. Weights that are not
    finite numbers in float64 of shape (classes, latents) are refused.

    Example:
        >>> gplens.links.MixedSoftmax(torch.eye(3).double(), seed=0).points
        256
    """

    weights: Float[Tensor, "c l"]
    """M."""
    noise: Float[Tensor, "c k"] | None = None
    """N."""
    seed: int = 0
    points: int = 256
    """Draws of each replicate, mirror images included: a power of two."""

    def __post_init__(self) -> None:
        check_mixing(self.weights)

    def __repr__(self) -> str:
        c, latents = self.weights.shape
        return f"MixedSoftmax({c} classes of {latents} latent functions, seed={self.seed})"

    @property
    def replicates(self) -> int:
        return SCRAMBLES

    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        if latents != self.weights.shape[1]:
            raise ValueError(
                f"{self!r}: expected {self.weights.shape[1]} latent functions, got a model with {latents}."
            )
        return self.weights

    def mixing_noise(self) -> Float[Tensor, "c k"] | None:
        return self.noise

    def refined(self) -> "MixedSoftmax | None":
        return None if self.points >= MOST else replace(self, points=2 * self.points)

    def draws(self, replicate: int, dims: int) -> Float[Tensor, "n l"]:
        return sobol_normals(self.points // 2, dims, self.seed * SCRAMBLES + replicate)

    def of_mixes(self, weights: Float[Tensor, "l k"], noise: Float[Tensor, "l n"]) -> "MixedSoftmax":
        """M (M2 f + N2 e), for latent functions that are themselves mixes."""
        joined = self.weights @ noise if self.noise is None else torch.cat([self.noise, self.weights @ noise], dim=1)
        return replace(self, weights=self.weights @ weights, noise=joined if joined.shape[1] else None)


@final
@dataclass(frozen=True)
class SoftmaxMonteCarlo(SampledSoftmax):
    """Softmax by plain Monte Carlo, for comparison: `Softmax` is exact. Refuses `samples` that are no multiple of 20.

    Example:
        >>> gplens.links.SoftmaxMonteCarlo(samples=1000, seed=0).samples
        1000
    """

    samples: int
    seed: int

    def __post_init__(self) -> None:
        if self.samples < 2 * BATCHES or self.samples % (2 * BATCHES):
            raise ValueError(f"SoftmaxMonteCarlo: expected a multiple of {2 * BATCHES} samples, got {self.samples}.")

    @property
    def replicates(self) -> int:
        return BATCHES

    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        return torch.eye(latents, dtype=torch.float64)

    def draws(self, replicate: int, dims: int) -> Float[Tensor, "n l"]:
        generator = torch.Generator().manual_seed(self.seed * BATCHES + replicate)
        return torch.randn(self.samples // (2 * BATCHES), dims, generator=generator, dtype=torch.float64)
