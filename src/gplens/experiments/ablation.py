"""Pixels replaced by those of a baseline (Appendix E.2): probabilities after replacements, and metrics of an order."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.softmax.integral import softmax_moments
from gplens.experiments.image_models import squared_exponential
from gplens.plots.removal import order_of
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack

BLOCK = 2**25
"""Numbers in the temporaries of a block of states: 256 MB in float64."""
TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-5}
"""The tolerance of the expected softmax, by the precision of the marginals."""


@final
@dataclass(frozen=True, eq=False)
class _Part:
    """Latent functions that share a kernel, as functions of which pixels are replaced."""

    r2: Float[Tensor, " n"]
    """Scaled squared distances of the image to the support points."""
    change: Float[Tensor, "p n"]
    """The change of r2, a sum over pixels, by the replacement of each pixel."""
    prior: Float[Tensor, " c"]
    """Prior means, which are constant."""
    beta: Float[Tensor, "c n"]
    F: Float[Tensor, "#c r n"]
    """A = F' diag(s) F  (1.7)."""
    s: Float[Tensor, "#c r"]
    variance: float
    """k(x,x)."""
    jitter: float

    @staticmethod
    def of(posterior: Posterior, x: Float[Tensor, " d"], x0: Float[Tensor, " d"], dtype: torch.dtype) -> "_Part":
        kernel, lengthscale = squared_exponential(posterior)
        far, near = (((point - posterior.Z) / lengthscale) ** 2 for point in (x0, x))
        change, prior = (far - near)[:, x != x0].T, torch.cat([mean(x[None]) for mean in posterior.means])
        tensors = near.sum(1), change, prior, posterior.beta, posterior.A.F, posterior.A.s
        r2, change, prior, beta, F, s = (tensor.to(dtype) for tensor in tensors)
        return _Part(r2, change, prior, beta, F, s, float(kernel.variance), posterior.jitter)

    def marginals(self, replaced: Float[Tensor, "s p"]) -> tuple[Float[Tensor, "s c"], Float[Tensor, "s c"]]:
        """m and v by (1.1), (1.7), from distances that cost a product of the states with the changes."""
        k = self.variance * torch.exp(-(self.r2 + replaced @ self.change) / 2)
        form = torch.stack([(k @ F.T).square() @ s for F, s in zip(self.F, self.s, strict=True)], dim=1)
        v = self.variance + self.jitter - form
        return self.prior + k @ self.beta.T, v.clamp(min=0)  # a variance: below zero is rounding

    @property
    def floats(self) -> int:
        """Numbers in the temporaries of one state."""
        return 3 * len(self.r2) + len(self.change)


@final
@dataclass(frozen=True, eq=False)
class Ablation:
    """One image whose pixels are replaced by those of a baseline; pixels that are equal in both are left out."""

    parts: tuple[_Part, ...]
    output: int
    pixels: int
    """The number of pixels that differ from the baseline."""
    dtype: torch.dtype

    @staticmethod
    def of(
        process: Process,
        x: Float[Tensor, " d"],
        x0: Float[Tensor, " d"],
        output: int,
        *,
        dtype: torch.dtype = torch.float64,
    ) -> "Ablation":
        """The ablation of x by x0 in a softmax model with squared exponential kernels."""
        stack = process.parts if isinstance(process, Stack) else (process,)
        parts = tuple(_Part.of(part, x, x0, dtype) for part in stack if isinstance(part, Posterior))
        if len(parts) < len(stack):
            raise TypeError(f"expected a Posterior or a Stack of them, got a {type(process).__name__}.")
        return Ablation(parts, output, int((x != x0).sum()), dtype)

    def probability(self, replaced: Bool[Tensor, "s p"]) -> Float[Tensor, " s"]:
        """E S_c of each state, in blocks of bounded memory."""
        size = max(1, BLOCK // max(part.floats for part in self.parts))
        return torch.cat([self._probability(block) for block in replaced.split(size)])

    def _probability(self, replaced: Bool[Tensor, "s p"]) -> Float[Tensor, " s"]:
        marginals = [part.marginals(replaced.to(self.dtype)) for part in self.parts]
        m, v = (torch.cat(moments, dim=1).double() for moments in zip(*marginals, strict=True))
        return softmax_moments(m, v, tolerance=TOLERANCE[self.dtype]).value[:, self.output]

    def removed(self, order: Int[Tensor, " p"], counts: Int[Tensor, " s"]) -> Float[Tensor, " s"]:
        """E S_c with the first pixels of an order replaced, for each count."""
        return self.probability(order.argsort() < counts[:, None])

    def inserted(self, order: Int[Tensor, " p"], counts: Int[Tensor, " s"]) -> Float[Tensor, " s"]:
        """E S_c with all pixels replaced except the first ones of an order, for each count."""
        return self.probability(order.argsort() >= counts[:, None])

    def removed_at_random(self, orders: int, counts: Int[Tensor, " s"], seed: int) -> Float[Tensor, " s"]:
        """`removed`, averaged over random orders, which differ only between the first and the last count."""
        between = (counts > 0) & (counts < self.pixels)
        curve = self.removed(torch.arange(self.pixels), torch.where(between, 0, counts))
        total = torch.zeros(int(between.sum()), dtype=torch.float64)
        for ranks in self._random_ranks(orders, len(total), seed) if len(total) else ():
            states = ranks[:, None] < counts[between, None]
            total += self.probability(states.flatten(0, 1)).view(len(ranks), -1).sum(0)
        curve[between] = total / orders
        return curve

    def _random_ranks(self, orders: int, states: int, seed: int) -> Iterator[Int[Tensor, "o p"]]:
        generator = torch.Generator().manual_seed(seed)
        block = max(1, BLOCK // (states * (self.pixels + sum(part.floats for part in self.parts))))
        for first in range(0, orders, block):
            yield torch.rand(min(block, orders - first), self.pixels, generator=generator).argsort(1)


@final
@dataclass(frozen=True)
class Score:
    """Metrics of one attribution of one image."""

    area: float
    """Between the ordered and the random curve of E S_c(x) - E S_c(replaced), over the fraction of pixels."""
    above: bool
    """Whether the ordered curve stays above the random one until the sign of the attributions changes."""
    deletion: float
    """Area under the probability while pixels are replaced, the most important first: lower is better."""
    insertion: float
    """Area under the probability while they come back, the most important first: higher is better."""


def score(
    ablation: Ablation, values: Float[Tensor, " p"], random: Float[Tensor, " s"], counts: Int[Tensor, " s"]
) -> Score:
    """The metrics of attributions, given the probabilities after random removal of so many pixels."""
    order = order_of(values)
    removed, inserted = ablation.removed(order, counts), ablation.inserted(order, counts)
    fraction = counts.double() / ablation.pixels
    lead = random - removed  # the differences to E S_c(x), whose order is the other way round
    before = (counts > 0) & (counts <= int((values > 0).sum()))
    deletion, insertion, area = (float(torch.trapezoid(curve, fraction)) for curve in (removed, inserted, lead))
    return Score(area, bool((lead[before] > 0).all()), deletion, insertion)
