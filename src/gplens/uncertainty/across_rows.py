"""Draws of attributions that are joint over inputs: draw s of all inputs is of one posterior function (MATH 5.24)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.integrand import Question
from gplens.processes.joint import JointPoints
from gplens.processes.process import Process, Sources
from gplens.uncertainty.draw_nodes import DrawNodes
from gplens.uncertainty.latent_paths import ROUNDING
from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty
from gplens.uncertainty.spreads import SpreadQuestion

ORDERS = (4, 7)
"""Gauss nodes of a panel, with their Kronrod extension: for attributions that are linear in f, and through a link."""
FINER = 4
"""How many times shorter panels are for rough kernels, whose gradients are not averaged around nodes here."""
RANK = 1e-7
"""The variance of what is left out of a path, as a part of the largest one of its coordinates."""
LARGEST = 3000
"""The most coordinates of all paths together, whose covariance is factorised."""
MOST = 60_000
"""The most values and gradients at the nodes of all paths together; the covariances of all pairs are evaluated."""
BLOCK = 4_000_000
"""Numbers in a block of covariances between nodes."""

Sets = Sequence[Sequence[int]]


@final
@dataclass(frozen=True, eq=False)
class RowNodes:
    """The nodes of all paths of one input, with a path to each of its baselines."""

    x: Float[Tensor, "q d"]
    w: Float[Tensor, " q"]
    """Weights, divided by the number of baselines."""
    D: Float[Tensor, "q g d"]
    """Which of d_k times the derivatives in the features add up to each attribution."""

    @staticmethod
    def on(
        process: Process, x0: Float[Tensor, "s d"], x: Float[Tensor, " d"], sets: Sets | None, order: int
    ) -> "RowNodes":
        """Kronrod nodes on panels of each path."""
        d = x - x0
        lengths = process.length(Line(x0, d, d.new_zeros(len(d), 0))).tolist()
        rough = 1 if process.smooth else FINER
        rules = [DrawNodes.on(rough * length, order, smooth=True) for length in lengths]
        add = torch.eye(len(x), dtype=x.dtype) if sets is None else x.new_zeros(len(sets), len(x))
        for s, members in enumerate(sets or ()):
            add[s, list(members)] = 1.0
        points = [start + rule.t[:, None] * step for start, step, rule in zip(x0, d, rules, strict=True)]
        steps = [(add * step).expand(len(rule.t), -1, -1) for step, rule in zip(d, rules, strict=True)]
        return RowNodes(torch.cat(points), torch.cat([rule.w for rule in rules]) / len(x0), torch.cat(steps))


def check_across_rows(question: Question) -> None:
    """Refuse what cannot be computed, before anything is computed."""
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
    """What is computed of every input before the draws that tie them together."""
    return Full() if SpreadQuestion(question, request).closed_form else Diagonal()


def draw_across_rows(
    question: Question,
    request: Samples,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    values: Float[Tensor, "b o d"],
    sets: Sets | None,
) -> Float[Tensor, "b n o g"]:
    """Draws of the attributions of all inputs, or of their sums over sets of features.

    Every path is a Gaussian vector of f and d_k d_k f at its nodes; its coordinates are those of the largest variance,
    or the attributions themselves where these are linear in f. The covariance of all coordinates of all paths is
    factorised once for each latent function.
    """
    sources = Sources.of(question.process)
    links = [question.expectation.link_of(output) for output in question.outputs]
    linear = all(link is not None and not link.needs_variance for link in links)
    starts = baselines.expand(len(x), -1, -1)
    rows = [RowNodes.on(sources.process, *row, sets, ORDERS[not linear]) for row in zip(starts, x, strict=True)]
    _check_size(sum(node.D[..., 0].numel() + len(node.w) for node in rows), MOST, "values and gradients at nodes", len(x))
    generator = torch.Generator().manual_seed(request.seed)
    latents = [_Latent.of(sources.process, i, rows, request.count, generator, linear) for i in range(sources.process.latents)]
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
    """sum_q w_q dT/df_l d_k d_k f_l of one input  (5.15), with all that was drawn."""
    M, drawn = sources.weights, [latent.drawn(i).unflatten(1, (len(row.w), -1)) for latent in latents]
    f = torch.stack([part[..., 0] for part in drawn], dim=1)
    jitter = torch.stack([latent.jitter[i] for latent in latents])
    slopes = question.expectation.slopes(M @ f, M**2 @ jitter + sources.jitter[:, None], question.outputs)
    weights = row.w * torch.einsum("nocq,cl->nolq", slopes, M)
    parts = [torch.einsum("noq,nqg->nog", weights[:, :, i], part[..., 1:]) for i, part in enumerate(drawn)]
    return torch.stack(parts).sum(0)


@final
@dataclass(frozen=True, eq=False)
class _Latent:
    """Draws of one latent function on all paths, in the coordinates of each."""

    mean: list[Float[Tensor, " y"]]
    """Of f and d_k d_k f at the nodes of an input; zero for attributions that are linear in f."""
    basis: list[Float[Tensor, "r y"]]
    jitter: list[Float[Tensor, " q"]]
    coordinates: tuple[Float[Tensor, "n r"], ...]

    def drawn(self, i: int) -> Float[Tensor, "n y"]:
        """What was drawn for input i."""
        return self.mean[i] + self.coordinates[i] @ self.basis[i]

    @staticmethod
    def of(
        process: Process, latent: int, rows: list[RowNodes], count: int, generator: torch.Generator, linear: bool
    ) -> "_Latent":
        """The covariance of the coordinates of all inputs, pair by pair of them, and draws with it."""
        points, edges = JointPoints.of(process, latent, torch.cat([row.x for row in rows])), [0]
        for row in rows:
            edges.append(edges[-1] + len(row.x))
        own = [_projected(points, rows, edges, i, slice(i, i + 1)) for i in range(len(rows))]
        P = [_integral(row) if linear else _principal(C) for row, C in zip(rows, own, strict=True)]
        sizes = [len(part) for part in P]
        _check_size(sum(sizes), LARGEST, "coordinates of paths", len(rows))
        whole = torch.zeros(sum(sizes), sum(sizes), dtype=rows[0].w.dtype)
        starts = torch.tensor([0, *sizes]).cumsum(0).tolist()
        for i, after in _blocks(rows):
            right = torch.block_diag(*P[after])
            block = P[i] @ _projected(points, rows, edges, i, after) @ right.T
            whole[starts[i] : starts[i + 1], starts[after.start] : starts[after.stop]] = block
        whole = whole.triu() + whole.triu(1).T
        size, vectors = torch.linalg.eigh(whole)
        root = vectors * size.clamp(min=0).sqrt()  # semi-definite: below zero is rounding
        normals = torch.randn(count, len(whole), generator=generator, dtype=whole.dtype)
        coordinates = (normals @ root.T).split(sizes, dim=1)
        if linear:
            basis = [torch.eye(len(part), dtype=whole.dtype) for part in P]
            return _Latent([part.new_zeros(len(part)) for part in P], basis, [], coordinates)
        means, jitter = zip(*(_moments(process, latent, row, C) for row, C in zip(rows, own, strict=True)), strict=True)
        return _Latent(list(means), P, list(jitter), coordinates)


def _blocks(rows: list[RowNodes]) -> list[tuple[int, slice]]:
    """Every input with itself and those after it, in blocks of bounded memory."""
    sizes = [row.D[..., 0].numel() + len(row.w) for row in rows]
    blocks = []
    for i, size in enumerate(sizes):
        start = i
        while start < len(rows):
            stop, held = start + 1, sizes[start]
            while stop < len(rows) and size * (held + sizes[stop]) <= BLOCK:
                held += sizes[stop]
                stop += 1
            blocks.append((i, slice(start, stop)))
            start = stop
    return blocks


def _projected(
    points: JointPoints, rows: list[RowNodes], edges: list[int], i: int, after: slice
) -> Float[Tensor, "y z"]:
    """Cov of (f, d_k d_k f) at the nodes of input i and of several others."""
    C = points.covariance(slice(edges[i], edges[i + 1]), slice(edges[after.start], edges[after.stop]))
    D = torch.cat([row.D for row in rows[after]])
    C = torch.cat([C[:, :1], torch.einsum("qgk,qkpl->qgpl", rows[i].D, C[:, 1:])], dim=1)
    C = torch.cat([C[..., :1], torch.einsum("qgpl,phl->qgph", C[..., 1:], D)], dim=3)
    return C.flatten(2).flatten(0, 1)


def _integral(row: RowNodes) -> Float[Tensor, "g y"]:
    """IG_k = sum_q w_q d_k d_k f_q as a row of weights for each attribution."""
    q, g = row.D.shape[:2]
    weights = row.w.new_zeros(g, q, 1 + g)
    weights[range(g), :, range(1, 1 + g)] = row.w
    return weights.flatten(1)


def _principal(C: Float[Tensor, "y y"]) -> Float[Tensor, "r y"]:
    """The directions of the largest variance, as rows; at least one."""
    size, vectors = torch.linalg.eigh((C + C.T) / 2)
    kept = size > RANK * size[-1]
    kept[-1] = True
    return vectors[:, kept].T


def _moments(
    process: Process, latent: int, row: RowNodes, C: Float[Tensor, "y y"]
) -> tuple[Float[Tensor, " y"], Float[Tensor, " q"]]:
    """The means of (f, d_k d_k f) at the nodes of an input, and the variance that no two nodes share."""
    at, step = process.along(Line.at(row.x)), 1 + row.D.shape[1]
    slopes = torch.einsum("qgk,qk->qg", row.D, process.m_gradient(row.x)[:, latent])
    v = at.v[:, latent, 0]
    jitter = v - C.diagonal()[::step]
    mean = torch.cat([at.m[:, latent], slopes], dim=1).flatten()
    return mean, torch.where(jitter > ROUNDING * v.max(), jitter, 0.0)


def _check_size(got: int, most: int, what: str, inputs: int) -> None:
    if got > most:
        raise ValueError(
            f"expected at most {most:,} {what} for draws that are joint over the inputs, got {got:,} of {inputs:,} "
            f"inputs. Explain a random sample of about {max(1, inputs * most // got):,} inputs, or group features."
        )
