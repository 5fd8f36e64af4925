"""Softmax of correlated logits, and the plain Monte Carlo softmax: averages over draws (MATH 3)."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor
from torch.quasirandom import SobolEngine

from gplens.expectations.expectation import Expectation, Jet
from gplens.expectations.softmax.checks import check_mixing, check_numbers
from gplens.expectations.softmax.classes import Softmax
from gplens.processes.process import Marginals


class Sampled(Expectation):
    """psi as the average over replicates, each a fixed set of draws that all inputs share.

    A replicate is a smooth function of (m, v), so that its attributions add up exactly; the spread of the replicates
    is the standard error. Output r * C + c of `jet` is output c of replicate r.
    """

    @property
    @abstractmethod
    def replicates(self) -> int:
        """How many independent averages there are."""

    @property
    def default_tolerance(self) -> float:
        """1e-4: a standard error falls slowly."""
        return 1e-4

    @abstractmethod
    def refined(self) -> "Sampled | None":
        """With twice the draws, or None where it has as many as it may have."""

    @abstractmethod
    def draws(self, replicate: int, latents: int) -> Float[Tensor, "n l"]:
        """Standard normal draws."""


CHUNK = 4_000_000
"""Numbers in the draws and logits evaluated at once: 32 MB."""
SMALL = 1e-7
"""An sd below which the derivative in v is taken from the second derivative: pathwise it would lose its digits."""
SCRAMBLES = 8
MOST = 2**14
"""Draws of a replicate at which refinement ends."""
BATCHES = 10
"""Replicates into which plain Monte Carlo splits its draws for a standard error."""


class SampledSoftmax(Sampled):
    """psi_c = E S_c(M f + N e), f_l ~ N(m_l, v_l) and e standard normal, all independent."""

    @property
    @abstractmethod
    def noise(self) -> Float[Tensor, "c k"] | None:
        """N; None for no noise on the logits."""

    @property
    def independent(self) -> bool:
        """The latent functions are drawn independently."""
        return True

    @abstractmethod
    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        """M."""

    def count(self, latents: int) -> int:
        """The classes."""
        classes = len(self.mixing(latents))
        if classes < 2:
            raise ValueError(
                f"A softmax needs two classes or more; {self!r} has {classes}. Use links.Sigmoid() for one."
            )
        return classes

    def names(self, latents: int) -> tuple[str, ...]:
        """class 0, class 1, ..."""
        return tuple(f"class {i}" for i in range(self.count(latents)))

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """Output r * C + c is class c of replicate r; outputs come replicate by replicate."""
        m, v = (tensor.movedim(1, 2) for tensor in (marginals.m, marginals.v))
        check_numbers(m, v)
        b, q, latents = m.shape
        C = self.count(latents)
        parts = []
        for r in sorted({output // C for output in outputs}):
            classes = [output % C for output in outputs if output // C == r]
            parts.append(self._replicate(r, m.flatten(0, 1), v.flatten(0, 1), classes))
        value, by_m, by_v = (torch.cat(group, dim=1).unflatten(0, (b, q)) for group in zip(*parts, strict=True))
        return Jet(value.mT, by_m.movedim(1, 3), by_v.movedim(1, 3))

    def slopes(
        self, f: Float[Tensor, "s l q"], extra: Float[Tensor, "l q"], outputs: tuple[int, ...]
    ) -> Float[Tensor, "s o l q"]:
        """S_c (M_cl - mu_l) at the paths; jitter, inside or on the logits, changes it by no more than itself."""
        M = self.mixing(f.shape[1])
        S = torch.softmax(M @ f, dim=1)
        mu = M.T @ S
        return S[:, list(outputs), None] * (M[list(outputs)][:, :, None] - mu[:, None])

    def _replicate(
        self, r: int, m: Float[Tensor, "e l"], v: Float[Tensor, "e l"], classes: list[int]
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Averages over the draws of one replicate and their mirror images, in chunks of elements."""
        M, N = self.mixing(m.shape[1]), self.noise
        draws = self.draws(r, m.shape[1] + (0 if N is None else N.shape[1]))
        draws = torch.cat([draws, -draws])  # mirrored: their mean is zero, which the derivative in v needs
        z, shift = draws[:, : m.shape[1]], 0.0 if N is None else draws[:, m.shape[1] :] @ N.T
        size = max(1, CHUNK // (len(z) * (2 * len(M) + 3 * M.shape[1])))
        pieces = zip(m.split(size), v.split(size), strict=True)
        found = [averages(*piece, M, z, shift, classes) for piece in pieces]
        value, by_m, by_v = (torch.cat(parts) for parts in zip(*found, strict=True))
        return value, by_m, by_v


def averages(
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
    mu, own, M_own = S @ M, S[:, :, classes].mT / n, M[classes]
    value, first = own.sum(2), own @ mu
    by_m = M_own * value[..., None] - first
    pathwise = (M_own * (own @ z) - own @ (mu * z)) / (2 * sd)  # (3.13)
    spread = S @ M**2 - 2 * mu**2
    second = (M_own**2 * value[..., None] - 2 * M_own * first - own @ spread) / 2  # (3.14)
    return value, by_m, torch.where(sd < SMALL, second, pathwise)


@lru_cache(maxsize=2 * SCRAMBLES)
def sobol_normals(count: int, dims: int, seed: int) -> Float[Tensor, "n l"]:
    """Scrambled Sobol points as normals, shifted by half of the engine's resolution of 2^-30 to keep them off zero."""
    engine = SobolEngine(dims, scramble=True, seed=seed)
    return torch.special.ndtri(engine.draw(count, dtype=torch.float64) + 2.0**-31)


@final
@dataclass(frozen=True, eq=False)
class MixedSoftmax(SampledSoftmax):
    """Softmax of a linear mix of independent latent functions, by randomised quasi Monte Carlo.

    Scrambled Sobol points; replicates are independent scramblings. Repeatable by the seed.
    """

    weights: Float[Tensor, "c l"]
    """M."""
    noise: Float[Tensor, "c k"] | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
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
        """The number of scramblings."""
        return SCRAMBLES

    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        """The weights."""
        if latents != self.weights.shape[1]:
            raise ValueError(f"The softmax mixes {self.weights.shape[1]} latent functions; the model has {latents}.")
        return self.weights

    def refined(self) -> "MixedSoftmax | None":
        """Twice the points."""
        return None if self.points >= MOST else replace(self, points=2 * self.points)

    def draws(self, replicate: int, latents: int) -> Float[Tensor, "n l"]:
        """Scrambled Sobol points as normals."""
        return sobol_normals(self.points // 2, latents, self.seed * SCRAMBLES + replicate)

    def mixed(self, weights: Float[Tensor, "l k"], noise: Float[Tensor, "l n"]) -> "MixedSoftmax":
        """Of a mix of a mix: M (M2 f + N2 e)."""
        own = self.weights @ noise if self.noise is None else torch.cat([self.noise, self.weights @ noise], dim=1)
        return replace(self, weights=self.weights @ weights, noise=own if own.shape[1] else None)


@final
@dataclass(frozen=True)
class SoftmaxMonteCarlo(SampledSoftmax):
    """Softmax of independent latent functions by plain Monte Carlo: for comparison. `Softmax` is exact and faster."""

    samples: int
    seed: int

    def __post_init__(self) -> None:
        if self.samples < 2 * BATCHES or self.samples % (2 * BATCHES):
            raise ValueError(f"SoftmaxMonteCarlo wants a multiple of {2 * BATCHES} samples; got {self.samples}.")

    @property
    def noise(self) -> None:
        """None."""
        return

    @property
    def replicates(self) -> int:
        """Batches of draws."""
        return BATCHES

    def mixing(self, latents: int) -> Float[Tensor, "c l"]:
        """The identity."""
        return torch.eye(latents, dtype=torch.float64)

    def refined(self) -> None:
        """Never: it has the samples that were asked for."""
        return

    def draws(self, replicate: int, latents: int) -> Float[Tensor, "n l"]:
        """Normal draws."""
        generator = torch.Generator().manual_seed(self.seed * BATCHES + replicate)
        count = self.samples // (2 * BATCHES)
        return torch.randn(count, latents, generator=generator, dtype=torch.float64)


def correlated(expectation: Expectation, weights: Float[Tensor, "c l"], noise: Float[Tensor, "c n"]) -> Expectation:
    """A expectation of independent logits as one of the latent functions that they mix, and of noise on the mix."""
    if isinstance(expectation, MixedSoftmax):
        return expectation.mixed(weights, noise)
    if isinstance(expectation, Softmax):
        return MixedSoftmax(torch.eye(len(weights), dtype=weights.dtype)).mixed(weights, noise)
    raise ValueError(
        f"{expectation!r} is for independent latent functions; the model's outputs are mixes of common ones. Use "
        "links.Softmax(), which then goes by quasi Monte Carlo."
    )
