"""Draws of latent paths, and the attribution given a path, which is Gaussian (MATH 5.15)."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.elementwise import ExpectedLink
from gplens.expectations.expectation import Expectation
from gplens.expectations.link import Link
from gplens.lines.line import Line
from gplens.lines.pairs import Joint
from gplens.paths.panels import gauss_kronrod
from gplens.processes.process import Process, Sources

RANK = 1e-13
"""Eigenvalues of the covariance of a path below this part of the largest are rounding."""
ROUNDING = 1e-12
"""v - c at a node is the host's jitter, or rounding where it is below this part of the largest v."""


@final
@dataclass(frozen=True, eq=False)
class Latent:
    """One latent function on the nodes: f = m + U xi, and its gradient regressed on xi."""

    joint: Joint
    U: Float[Tensor, "q r"]
    G: Float[Tensor, "q r d"]
    """Cov(d_k f_q, xi_r)."""

    @staticmethod
    def of(joint: Joint) -> "Latent":
        """Through the eigenvectors of the covariance of the path."""
        size, vectors = torch.linalg.eigh(joint.c)
        kept = size > RANK * size[-1]
        root = size[kept].sqrt()
        return Latent(joint, vectors[:, kept] * root, torch.einsum("qpd,pr->qrd", joint.c_k, vectors[:, kept] / root))

    def extra(self) -> Float[Tensor, " q"]:
        """The variance that no two nodes share."""
        extra = self.joint.v - self.joint.c.diagonal()
        return torch.where(extra > ROUNDING * self.joint.v.max(), extra, 0.0)

    def paths(self, xi: Float[Tensor, "s r"]) -> Float[Tensor, "s q"]:
        """f at the nodes."""
        return self.joint.m + xi @ self.U.T

    def slopes(self, xi: Float[Tensor, "s r"]) -> Float[Tensor, "s q d"]:
        """E[d_k f given the path]."""
        return self.joint.m_k + torch.einsum("sr,qrd->sqd", xi, self.G)

    @cached_property
    def remainder(self) -> Float[Tensor, "q q d *d"]:
        """The same for all draws: Cov(d_k f_q, d_l f_p given the path), or its diagonal, as the joint has it."""
        form = "qrk,prl->qpkl" if self.joint.c_kl.ndim == 4 else "qrk,prk->qpk"
        return self.joint.c_kl - torch.einsum(form, self.G, self.G)


def _line(
    x0: Float[Tensor, " d"], x: Float[Tensor, " d"], order: int
) -> tuple[Line, Float[Tensor, " q"], Float[Tensor, " q"]]:
    """One path at Kronrod nodes, with the weights of Kronrod's rule and of Gauss's."""
    t, w, gauss = (torch.as_tensor(part) for part in gauss_kronrod(order))
    return Line(x0[None], (x - x0)[None], t[None]), w, gauss


@final
@dataclass(frozen=True, eq=False)
class PathDraws:
    """All independent latent functions of a process on one path, at Kronrod nodes."""

    latents: tuple[Latent, ...]
    expectation: Expectation
    outputs: tuple[int, ...]
    d: Float[Tensor, " d"]
    w: Float[Tensor, " q"]
    gauss: Float[Tensor, " q"]
    """Weights of the coarser rule on the same nodes."""
    mixing: Float[Tensor, "c l"]
    """What the expectation takes is this mix of the latent functions, plus the jitter."""
    jitter: Float[Tensor, " c"]

    @staticmethod
    def on(
        process: Process,
        expectation: Expectation,
        outputs: tuple[int, ...],
        x0: Float[Tensor, " d"],
        x: Float[Tensor, " d"],
        order: int,
        *,
        full: bool,
    ) -> "PathDraws":
        """2 order + 1 nodes."""
        line, w, gauss = _line(x0, x, order)
        sources = Sources.of(process)
        own = sources.process
        latents = tuple(Latent.of(own.joint(line, i, full=full)) for i in range(own.latents))
        return PathDraws(latents, expectation, outputs, x - x0, w, gauss, sources.weights, sources.jitter)

    @staticmethod
    def alone(
        process: Process,
        latent: int,
        link: Link,
        x0: Float[Tensor, " d"],
        x: Float[Tensor, " d"],
        order: int,
        *,
        full: bool,
    ) -> "PathDraws":
        """An output that depends on one latent function, which is independent of the others."""
        line, w, gauss = _line(x0, x, order)
        own = Latent.of(process.joint(line, latent, full=full))
        return PathDraws((own,), ExpectedLink((link,)), (0,), x - x0, w, gauss, x.new_ones(1, 1), x.new_zeros(1))

    def coarse(self) -> "PathDraws":
        """The same draws, integrated by the Gauss nodes among the Kronrod nodes."""
        return replace(self, w=self.gauss)

    @property
    def dims(self) -> int:
        """Standard normals that make one draw of all paths."""
        return sum(latent.U.shape[1] for latent in self.latents)

    def given(self, xi: Float[Tensor, "s r"]) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o l q"]]:
        """E[IG given the paths], and the weights of d_k f_q in it: w_q dT_o/df_l  (5.15)."""
        each = xi.split([latent.U.shape[1] for latent in self.latents], dim=1)
        f = torch.stack([latent.paths(own) for latent, own in zip(self.latents, each, strict=True)], dim=1)
        weights = self.w * self._slopes(f)
        parts = [
            torch.einsum("soq,sqd->sod", weights[:, :, i], latent.slopes(own))
            for i, (latent, own) in enumerate(zip(self.latents, each, strict=True))
        ]
        return self.d * torch.stack(parts).sum(0), weights

    def _slopes(self, f: Float[Tensor, "s l q"]) -> Float[Tensor, "s o l q"]:
        """dT/df, through the mix."""
        M, extra = self.mixing, torch.stack([latent.extra() for latent in self.latents])
        slopes = self.expectation.slopes(M @ f, M**2 @ extra + self.jitter[:, None], self.outputs)
        return torch.einsum("socq,cl->solq", slopes, M)

    def variance(self, weights: Float[Tensor, "s o l q"]) -> Float[Tensor, "s o d"]:
        """Var[IG given the paths] of every attribution."""
        total = torch.zeros(())
        for i, latent in enumerate(self.latents):
            own = weights[:, :, i]
            total = total + torch.einsum("soqp,qpd->sod", own[..., None] * own[..., None, :], latent.remainder)
        return (self.d**2 * total).clamp(min=0)  # a variance: below zero is rounding

    def covariance(self, weights: Float[Tensor, "s o l q"]) -> Float[Tensor, "s o d o d"]:
        """Cov[IG given the paths] between all outputs and features."""
        total = torch.zeros(())
        for i, latent in enumerate(self.latents):
            own = weights[:, :, i]
            total = total + torch.einsum("saq,sbp,qpkl->sakbl", own, own, latent.remainder)
        return self.d[:, None, None] * self.d * total
