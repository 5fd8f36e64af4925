"""Draws of attributions that are joint over inputs: draw s of every input is of one posterior function (MATH 5.24)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.integrand import Question
from gplens.processes.joint import JointPoints
from gplens.processes.latent_sources import Sources
from gplens.processes.process import Process
from gplens.uncertainty.latent_paths import ROUNDING
from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty
from gplens.uncertainty.row_nodes import RowNodes, Sets, check_size_of
from gplens.uncertainty.spreads import SpreadQuestion

RANK = 1e-6
"""The largest variance of a coordinate that is left out, relative to the largest variance of its path."""
LARGEST = 3000
"""The most coordinates of all paths together, since their covariance is factorised."""
MOST = 60_000
"""The most values and gradients at the nodes of all paths together, since covariances of all pairs are evaluated."""
BLOCK = 4_000_000
"""Numbers in a block of covariances between nodes."""


def check_across_rows(question: Question) -> None:
    """Refuse a question without draws that are joint over inputs, before anything is computed."""
    if question.expectation.draws_of(question.outputs) is not None:
        raise ValueError(
            "expected a single posterior for across_rows=True, got an average over draws of hyper-parameters; use "
            "Samples(count, seed), whose draws are joint over the features of each input."
        )
    process = Sources.of(question.process).process
    nowhere = torch.zeros(1, process.features, dtype=torch.float64)
    for latent in range(process.latents):
        JointPoints.of(process, latent, nowhere)


def each_row_alone(question: Question, request: Samples) -> Uncertainty:
    """The request for each input alone, without the draws that are joint over inputs."""
    return Full() if SpreadQuestion(question, request).closed_form else Diagonal()


def draw_across_rows(
    question: Question,
    request: Samples,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    shares: Float[Tensor, " s"] | None,
    values: Float[Tensor, "b o d"],
    sets: Sets | None,
) -> Float[Tensor, "b n o g"]:
    """Draws of the attributions of all inputs, or of their sums over sets of features; `shares` weight the baselines.

    Every path is a Gaussian vector of f and d_k d_k f at its nodes. Its coordinates are the directions of the largest
    variance, or the attributions themselves if these are linear in f. The covariance of the coordinates of all paths is
    factorised once for each latent function.
    """
    sources = Sources.of(question.process)
    links = [question.expectation.link_of(output) for output in question.outputs]
    linear = all(link is not None and not link.needs_variance for link in links)
    starts = baselines.expand(len(x), -1, -1)
    rows = [RowNodes.on(sources.process, *row, shares, sets, linear=linear) for row in zip(starts, x, strict=True)]
    check_size_of(sum(row.size for row in rows), MOST, "values and gradients at nodes", len(x))
    generator = torch.Generator().manual_seed(request.seed)
    drawing = (rows, request.count, generator)
    latents = [_Latent.of(sources.process, i, *drawing, linear=linear) for i in range(sources.process.latents)]
    M = sources.weights
    if linear:
        slopes = question.expectation.slopes(
            x.new_zeros(1, len(M), 1), x.new_zeros(len(M), 1), question.outputs
        )  # constant: the links are affine
        by_latent = torch.einsum("soc,cl->ol", slopes[..., 0], M)
        summed = values if sets is None else torch.stack([values[..., list(members)].sum(-1) for members in sets], -1)
        deviation = torch.stack([torch.stack([latent.drawn(i) for latent in latents]) for i in range(len(x))])
        return summed[:, None] + torch.einsum("ol,blng->bnog", by_latent, deviation)
    return torch.stack([_through_links(question, latents, sources, i, row) for i, row in enumerate(rows)])


def _through_links(
    question: Question, latents: "list[_Latent]", sources: Sources, i: int, row: RowNodes
) -> Float[Tensor, "n o g"]:
    """sum_q w_q dT/df_l d_k d_k f_l of one input  (5.15), from the drawn f_l and their gradients."""
    M, root = sources.weights, row.w.sqrt()
    drawn = [latent.drawn(i).unflatten(1, (len(row.w), -1)) for latent in latents]
    f = torch.stack([part[..., 0] for part in drawn], dim=1) / root
    jitter = torch.stack([latent.jitter[i] for latent in latents])
    slopes = question.expectation.slopes(M @ f, M**2 @ jitter + sources.jitter[:, None], question.outputs)
    weights = root * torch.einsum("nocq,cl->nolq", slopes, M)
    parts = [torch.einsum("noq,nqg->nog", weights[:, :, i], part[..., 1:]) for i, part in enumerate(drawn)]
    return torch.stack(parts).sum(0)


@final
@dataclass(frozen=True, eq=False)
class _Latent:
    """Draws of one latent function on all paths, in the coordinates of each."""

    mean: list[Tensor]
    """(y,): of the vector y of each input; zero for attributions that are linear in f."""
    basis: list[Tensor]
    """(r, y): the directions of the coordinates."""
    jitter: list[Tensor]
    """(q,): the variance that no two nodes share."""
    coordinates: tuple[Tensor, ...]
    """(n, r): the draws of the coordinates."""

    def drawn(self, i: int) -> Float[Tensor, "n y"]:
        """The draws for input i."""
        return self.mean[i] + self.coordinates[i] @ self.basis[i]

    @staticmethod
    def of(
        process: Process, latent: int, rows: list[RowNodes], count: int, generator: torch.Generator, *, linear: bool
    ) -> "_Latent":
        """The covariance of the coordinates of all inputs, computed for all pairs of inputs, and draws from it."""
        joint = _Joint(JointPoints.of(process, latent, torch.cat([row.x for row in rows])), rows)
        basis, means, jitter, P = [], [], [], []
        for i, row in enumerate(rows):
            S = row.integrals() if linear else row.vectors()
            basis.append(torch.eye(len(S), dtype=S.dtype))
            means.append(S.new_zeros(len(S)))
            if not linear:
                C = joint.covariance(i, slice(i, i + 1))
                basis[i] = _principal(S @ C @ S.T)
                mean, extra = _moments(process, latent, row, C.diagonal())
                means[i] = S @ mean
                jitter.append(extra)
            P.append(basis[i] @ S)
        check_size_of(sum(map(len, P)), LARGEST, "coordinates of paths", len(rows))
        whole = joint.of_coordinates(P)
        size, vectors = torch.linalg.eigh(whole)
        root = vectors * size.clamp(min=0).sqrt()  # semi-definite: below zero is rounding
        normals = torch.randn(count, len(whole), generator=generator, dtype=whole.dtype)
        return _Latent(means, basis, jitter, (normals @ root.T).split([len(part) for part in P], dim=1))


@final
@dataclass(frozen=True, eq=False)
class _Joint:
    """One latent function at the nodes of all inputs."""

    points: JointPoints
    rows: list[RowNodes]

    def covariance(self, i: int, others: slice) -> Float[Tensor, "z y"]:
        """Cov of the vectors z of input i and of several others."""
        edges = torch.tensor([0, *(len(row.x) for row in self.rows)]).cumsum(0).tolist()
        C = self.points.covariance(slice(edges[i], edges[i + 1]), slice(edges[others.start], edges[others.stop]))
        left, right = self.rows[i].D, torch.cat([row.D for row in self.rows[others]])
        C = torch.cat([C[:, :1], torch.einsum("qgk,qkpl->qgpl", left, C[:, 1:])], dim=1)
        C = torch.cat([C[..., :1], torch.einsum("qgpl,phl->qgph", C[..., 1:], right)], dim=3)
        return C.flatten(2).flatten(0, 1)

    def of_coordinates(self, P: list[Tensor]) -> Float[Tensor, "n n"]:
        """Cov(P_i z_i, P_j z_j) of all pairs of inputs, with a matrix P_i for each, as one matrix."""
        starts = torch.tensor([0, *map(len, P)]).cumsum(0).tolist()
        whole = P[0].new_zeros(starts[-1], starts[-1])
        for i, others in self._blocks():
            block = P[i] @ self.covariance(i, others) @ torch.block_diag(*P[others]).T
            whole[starts[i] : starts[i + 1], starts[others.start] : starts[others.stop]] = block
        return whole.triu() + whole.triu(1).T

    def _blocks(self) -> list[tuple[int, slice]]:
        """Pairs of every input with itself and the later inputs, in blocks of bounded memory."""
        sizes, blocks = [row.size for row in self.rows], []
        for i, size in enumerate(sizes):
            start = i
            while start < len(sizes):
                stop, held = start + 1, sizes[start]
                while stop < len(sizes) and size * (held + sizes[stop]) <= BLOCK:
                    held, stop = held + sizes[stop], stop + 1
                blocks.append((i, slice(start, stop)))
                start = stop
        return blocks


def _principal(C: Float[Tensor, "y y"]) -> Float[Tensor, "r y"]:
    """The directions of the largest variance, as rows; at least one."""
    size, vectors = torch.linalg.eigh((C + C.T) / 2)
    kept = size > RANK * size[-1]
    kept[-1] = True
    return vectors[:, kept].T


def _moments(
    process: Process, latent: int, row: RowNodes, variances: Float[Tensor, " z"]
) -> tuple[Float[Tensor, " z"], Float[Tensor, " q"]]:
    """The mean of the vector z of an input, and the variance that no two nodes share."""
    at = process.along(Line.at(row.x))
    slopes = torch.einsum("qgk,qk->qg", row.D, process.m_gradient(row.x)[:, latent])
    v = at.v[:, latent, 0]
    jitter = (v - variances[:: 1 + row.D.shape[1]])[row.nodes > 0]
    mean = torch.cat([at.m[:, latent], slopes], dim=1).flatten()
    return mean, torch.where(jitter > ROUNDING * v.max(), jitter, 0.0)
