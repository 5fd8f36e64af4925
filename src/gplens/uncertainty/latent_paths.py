"""Latent functions on a path as Gaussian vectors, given which attributions are Gaussian too (MATH 5.15)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation
from gplens.lines.line import Line
from gplens.lines.pairs import Pairs
from gplens.lines.units import power_of_two
from gplens.paths.integrand import Question
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Process
from gplens.uncertainty.draw_nodes import AveragedPrior, DrawNodes

RANK = 1e-13
"""Eigenvalues of the covariance of a path below this part of the largest one are rounding."""
ROUNDING = 1e-12
"""v - c at a node is the host's jitter; below this part of the largest v it is rounding."""


@final
@dataclass(eq=False)
class LatentPath:
    """One latent function at the nodes of one path: f = m + U xi, and its gradient regressed on xi."""

    pairs: Pairs
    """The pairs of nodes of a single line."""
    U: Float[Tensor, "q r"]
    G: Float[Tensor, "q r d"]
    """Cov(d_k f_q, xi_r), with d_k f averaged around the nodes if f is rough."""
    gradients: Float[Tensor, "q q d *d"]
    """Cov(d_k f_q, d_l f_p), averaged likewise; only for k = l unless covariances are requested."""
    full: bool
    coarse: "Callable[[], LatentPath] | None" = None
    """The same path with averages for the coarser rule; None if f is smooth."""

    @staticmethod
    def of(process: Process, latent: int, line: Line, nodes: DrawNodes, *, full: bool) -> "LatentPath":
        """From the eigenvectors of the covariance of f at the nodes."""
        pairs = process.pairs(line, line, latent)
        size, vectors = torch.linalg.eigh(pairs.c[0])
        vectors = vectors * vectors.gather(0, vectors.abs().argmax(0, keepdim=True)).sign()  # whatever the units
        kept = size > RANK * size[-1]
        root = size[kept].sqrt()
        by_xi, c_k, gradients = vectors[:, kept] / root, pairs.c_k[0].transpose(0, 1), pairs.gradients(full)[0]

        def corrected(correction: AveragedPrior) -> LatentPath:
            G = torch.einsum("qpd,pr->qrd", c_k + correction.c_k, by_xi)
            return LatentPath(pairs, vectors[:, kept] * root, G, gradients + correction.gradients, full)

        if nodes.grid is None:
            return LatentPath(pairs, vectors[:, kept] * root, torch.einsum("qpd,pr->qrd", c_k, by_xi), gradients, full)
        prior = process.split_pairs(line, latent).prior
        path = corrected(AveragedPrior.of(nodes, prior, line, full=full, coarse=False))
        return replace(path, coarse=lambda: corrected(AveragedPrior.of(nodes, prior, line, full=full, coarse=True)))

    def jitter(self) -> Float[Tensor, " q"]:
        """The variance that no two nodes share."""
        v = self.pairs.left.v[0]
        jitter = v - self.pairs.c[0].diagonal()
        return torch.where(jitter > ROUNDING * v.max(), jitter, 0.0)

    def values(self, xi: Float[Tensor, "s r"]) -> Float[Tensor, "s q"]:
        """f at the nodes."""
        return self.pairs.left.m[0] + xi @ self.U.T

    def slopes(self, xi: Float[Tensor, "s r"]) -> Float[Tensor, "s q d"]:
        """E[d_k f given f at the nodes]."""
        return self.pairs.left.m_k[0] + torch.einsum("sr,qrd->sqd", xi, self.G)

    @cached_property
    def remainder(self) -> Float[Tensor, "q q d *d"]:
        """Cov(d_k f_q, d_l f_p given f at the nodes), the same for all draws; its diagonal k = l unless full."""
        indices = "qrk,prl->qpkl" if self.full else "qrk,prk->qpk"
        return self.gradients - torch.einsum(indices, self.G, self.G)


@final
@dataclass(frozen=True, eq=False)
class PathDraws:
    """All independent latent functions of a process at the Kronrod nodes of one path."""

    latents: tuple[LatentPath, ...]
    expectation: Expectation
    outputs: tuple[int, ...]
    d: Float[Tensor, " d"]
    w: Float[Tensor, " q"]
    gauss: Float[Tensor, " q"]
    """Weights of the coarser rule on the same nodes."""
    mixing: Float[Tensor, "c l"]
    """The outputs are this mix of the latent functions, plus the jitter."""
    jitter: Float[Tensor, " c"]
    unit: Float[Tensor, " o"]
    """The size of dT/df of each output at the posterior mean, as a unit in which squares stay within float64."""

    @staticmethod
    def on(
        question: Question, x0: Float[Tensor, " d"], x: Float[Tensor, " d"], order: int, *, full: bool
    ) -> "PathDraws":
        """At 2 order + 1 nodes of each panel."""
        path, sources = Line(x0[None], (x - x0)[None], x.new_zeros(1, 0)), Sources.of(question.process)
        process = sources.process
        nodes = DrawNodes.on(float(process.length(path)), order, smooth=process.smooth, paths=process.paths)
        line = replace(path, t=nodes.t[None])
        latents = tuple(LatentPath.of(process, i, line, nodes, full=full) for i in range(process.latents))
        rule, mix, ones = (
            (x - x0, nodes.w, nodes.gauss),
            (sources.weights, sources.jitter),
            nodes.w.new_ones(len(question.outputs)),
        )
        paths = PathDraws(latents, question.expectation, question.outputs, *rule, *mix, ones)
        m = torch.stack([latent.pairs.left.m[0] for latent in latents])[None]
        return replace(paths, unit=power_of_two(paths._target_slopes(m).abs().amax((0, 2, 3))))

    def coarse(self) -> "PathDraws":
        """The same draws, integrated by the Gauss nodes among the Kronrod nodes."""
        latents = tuple(latent if latent.coarse is None else latent.coarse() for latent in self.latents)
        return replace(self, w=self.gauss, latents=latents)

    @property
    def dims(self) -> int:
        """The number of standard normals in a draw of all paths."""
        return sum(latent.U.shape[1] for latent in self.latents)

    def given(self, xi: Float[Tensor, "s r"]) -> tuple[Float[Tensor, "s o d"], Float[Tensor, "s o l q"]]:
        """E[IG given the paths], and the weights of d_k f_q in it: w_q dT_o/df_l  (5.15), both in units of `unit`."""
        by_latent = xi.split([latent.U.shape[1] for latent in self.latents], dim=1)
        pairs = list(zip(self.latents, by_latent, strict=True))
        f = torch.stack([latent.values(normals) for latent, normals in pairs], dim=1)
        weights = self.w * self._target_slopes(f) / self.unit[:, None, None]
        parts = [
            torch.einsum("soq,sqd->sod", weights[:, :, i], latent.slopes(normals))
            for i, (latent, normals) in enumerate(pairs)
        ]
        return self.d * torch.stack(parts).sum(0), weights

    def _target_slopes(self, f: Float[Tensor, "s l q"]) -> Float[Tensor, "s o l q"]:
        """dT/df, through the mix."""
        M, jitter = self.mixing, torch.stack([latent.jitter() for latent in self.latents])
        slopes = self.expectation.slopes(M @ f, M**2 @ jitter + self.jitter[:, None], self.outputs)
        return torch.einsum("socq,cl->solq", slopes, M)

    def variance(self, weights: Float[Tensor, "s o l q"]) -> Float[Tensor, "s o d"]:
        """Var[IG given the paths] of every attribution."""
        total = torch.zeros(())
        for i, latent in enumerate(self.latents):
            w = weights[:, :, i]
            total = total + torch.einsum("soqp,qpd->sod", w[..., None] * w[..., None, :], latent.remainder)
        return (self.d**2 * total).clamp(min=0)  # below zero is rounding, or the error of averages (5.15a)

    def covariance(self, weights: Float[Tensor, "s o l q"]) -> Float[Tensor, "s o d o d"]:
        """Cov[IG given the paths] between all outputs and features."""
        total = torch.zeros(())
        for i, latent in enumerate(self.latents):
            w = weights[:, :, i]
            total = total + torch.einsum("saq,sbp,qpkl->sakbl", w, w, latent.remainder)
        return self.d[:, None, None] * self.d * total
