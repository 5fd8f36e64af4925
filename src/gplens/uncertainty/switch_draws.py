"""Latent functions at the nodes of all lines of a path that changes categories, jointly Gaussian (MATH 10.4)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.paths.integrand import Question
from gplens.paths.path_psi import NodeValues
from gplens.processes.joint import JointPoints
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Process
from gplens.uncertainty.joint_columns import joint_in_columns
from gplens.uncertainty.latent_paths import ROUNDING
from gplens.uncertainty.switch_nodes import SwitchNodes

BLOCK = 4_000_000
"""The most numbers in a block of covariances between nodes."""
MOST_LINEAR, MOST_DRAWN = 40_000, 3000
"""The most values and derivatives at nodes: for attributions that are linear in f, and for draws, which factorise a
matrix of this size."""
CHUNK = 4_000_000
"""The most numbers in a chunk of draws."""


@final
@dataclass(frozen=True, eq=False)
class SwitchDraws:
    """f and its derivatives at the nodes of the paths to one input."""

    question: Question
    sources: Sources
    nodes: SwitchNodes
    joint: tuple[JointPoints, ...]
    """The covariances of each independent latent function, with its derivatives in the numbers that change."""

    @staticmethod
    def most(*, linear: bool) -> int:
        """The most values and derivatives."""
        return MOST_LINEAR if linear else MOST_DRAWN

    @staticmethod
    def of(question: Question, nodes: SwitchNodes, *, linear: bool) -> "SwitchDraws":
        """Raise a ValueError if there are too many nodes, or if the process has no covariances between lines."""
        most = SwitchDraws.most(linear=linear)
        if nodes.size > most:
            raise ValueError(
                f"expected at most {most:,} values and derivatives for error bars on paths that change categories, got "
                f"{nodes.size:,}: they double with every category that changes. Choose a single baseline that shares "
                "categories with the input, explain the latent function with target=gplens.targets.Latent(), or leave "
                "uncertainty= out."
            )
        sources = Sources.of(question.process)
        moved = torch.tensor(nodes.moved, dtype=torch.int64)
        joint = tuple(joint_in_columns(sources.process, i, nodes.x, moved) for i in range(sources.process.latents))
        return SwitchDraws(question, sources, nodes, joint)

    def covariances(self) -> Float[Tensor, "2 o d d"]:
        """Cov(IG_j, IG_k) of outputs that are affine in f, by the rule and by the coarser one."""
        m = self.nodes.x.new_zeros(1, len(self.sources.weights), 1)
        slopes = self.question.expectation.slopes(m, m[0], self.question.outputs)[0, :, :, 0]  # constant: affine
        by_latent = (slopes @ self.sources.weights).square()
        whole = torch.stack([self._covariance(joint) for joint in self.joint])
        return torch.einsum("ol,lrjk->rojk", by_latent, whole)

    def _covariance(self, joint: JointPoints) -> Float[Tensor, "2 d d"]:
        """Write results for the features that a path changes, with zeros for the others."""
        nodes, (n, d), moved = self.nodes, self.nodes.x.shape, self.nodes.moved
        changed = [j for j in range(d) if j in moved or bool(nodes.values[:, :, j].any())]
        values = nodes.values[:, :, changed]
        slopes = nodes.slopes[:, :, moved]
        place = [changed.index(j) for j in moved]
        total = nodes.x.new_zeros(2, len(changed), len(changed))
        size = max(1, BLOCK // (n * ((1 + len(moved)) ** 2 + d)))
        for start in range(0, n, size):
            rows = slice(start, min(n, start + size))
            C = joint.covariance(rows, slice(0, n))
            for r in range(2):
                left = torch.einsum("nj,nml->jml", values[r, rows], C[:, 0])
                left[place] += torch.einsum("nj,njml->jml", slopes[r, rows], C[:, 1:])
                total[r] += left[..., 0] @ values[r]
                total[r][:, place] += torch.einsum("jmk,mk->jk", left[..., 1:], slopes[r])
        whole = total.new_zeros(2, d, d)
        whole[:, torch.tensor(changed)[:, None], torch.tensor(changed)] = total
        return whole

    def attributions(self, count: int, seed: int) -> Float[Tensor, "2 s o d"]:
        """Draws of the attributions, by the rule and by the coarser one on the same draws."""
        generator, moved = torch.Generator().manual_seed(seed), self.nodes.moved
        drawn = [self._latent(i, joint, count, generator) for i, joint in enumerate(self.joint)]
        M, n = self.sources.weights, len(self.nodes.x)
        f = torch.stack([y[:, :, 0] for y, _ in drawn], dim=1)
        extra = M**2 @ torch.stack([jitter for _, jitter in drawn]) + self.sources.jitter[:, None]
        gradients = torch.stack([y[:, :, 1:] for y, _ in drawn], dim=1)
        out = f.new_zeros(2, count, len(self.question.outputs), self.nodes.x.shape[1])
        size = max(1, CHUNK // (n * len(M) * (2 + len(self.question.outputs))))
        for part in torch.arange(count).split(size):
            mixed = M @ f[part]
            jet = self.question.expectation.jet(
                NodeValues(mixed, extra.expand_as(mixed)), self.question.outputs
            )  # T(f), averaged over the jitter
            slopes = torch.einsum("socn,cl->soln", jet.by_m, M)
            out[:, part] = torch.einsum("rnd,son->rsod", self.nodes.values, jet.value)
            by_number = torch.einsum("rnk,soln,slnk->rsok", self.nodes.slopes[..., moved], slopes, gradients[part])
            out[:, part[:, None, None], torch.arange(out.shape[2])[:, None], torch.tensor(moved)] += by_number
        return out

    def _latent(
        self, i: int, joint: JointPoints, count: int, generator: torch.Generator
    ) -> tuple[Float[Tensor, "s n e"], Float[Tensor, " n"]]:
        """Draws of f and of its derivatives in the numbers that change, and the variance that no two nodes share."""
        x, process, everything = self.nodes.x, self.sources.process, slice(0, len(self.nodes.x))
        C = joint.covariance(everything, everything)
        v = process.v(x)[:, i]
        jitter = v - C[:, 0, :, 0].diagonal()
        size, vectors = torch.linalg.eigh(C.flatten(2).flatten(0, 1))
        root = vectors * size.clamp(min=0).sqrt()  # semi-definite: below zero is rounding
        mean = torch.cat([process.m(x)[:, [i]], _slopes(process, x, i)[:, self.nodes.moved]], dim=1)
        normals = torch.randn(count, len(root), generator=generator, dtype=x.dtype)
        return mean + (normals @ root.T).unflatten(1, mean.shape), torch.where(jitter > ROUNDING * v.max(), jitter, 0.0)


def _slopes(process: Process, x: Float[Tensor, "n d"], latent: int) -> Float[Tensor, "n d"]:
    return process.m_gradient(x)[:, latent]
