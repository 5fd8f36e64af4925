"""Cov(IG_k, IG_l) of one path, by quadrature over pairs of its points (MATH 5.1, 5.2)."""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.joint import Joint
from gplens.line import Line
from gplens.links.link import Link, PairMoments
from gplens.paths.nodes import gauss_legendre
from gplens.process import Process

Matrix = Float[Tensor, "d *d"]
"""Features by features, or its diagonal."""


def covariance(
    process: Process,
    latent: int,
    link: Link,
    x0: Float[Tensor, " d"],
    x: Float[Tensor, " d"],
    order: int,
    *,
    full: bool,
) -> Matrix:
    """d_k d_l sum_qp w_q w_p (5.1) - IG_k IG_l  (5.2), with `order` nodes in each direction."""
    d = x - x0
    second, first = torch.zeros(()), torch.zeros(())
    for t, weights in _pairs(process.smooth, order):
        joint = process.joint(x0 + t[:, None] * d, latent, full=full)
        second = second + _sum(joint, _moments(link, joint), weights)
    first = _mean_slope(process, latent, link, x0, d, order)
    if full:
        second, outer = (second + second.T) / 2, d[:, None] * d
        return outer * (second - first[:, None] * first)
    return d**2 * (second - first**2)


def _mean_slope(
    process: Process, latent: int, link: Link, x0: Float[Tensor, " d"], d: Float[Tensor, " d"], order: int
) -> Float[Tensor, " d"]:
    """IG_k / d_k at the same nodes: sum_q w_q (E g' m_k + 1/2 E g'' v_k)  (4.1)."""
    t, w = (torch.as_tensor(part)[None] for part in gauss_legendre(order))
    at = process.along(Line(x0[None], d[None], t))
    _, slope, curvature = link.moments(at.m[:, latent], at.v[:, latent])
    own = torch.eye(process.latents, dtype=d.dtype)[latent][:, None]
    wm, wv = (own * w * part for part in (slope, curvature / 2))
    return at.pull_back(wm[None, None], wv[None, None])[0, 0]


def _pairs(smooth: bool, order: int) -> Iterator[tuple[Float[Tensor, " q"], Float[Tensor, "q q"]]]:
    """Nodes and the weights of pairs of them, so that sums over all yields are integrals over the unit square.

    A kernel that is not analytic where its arguments meet has a kink on the diagonal t = t'. Then the triangle t' < t
    is mapped to a square, t' = t s, and counted twice: each node t with nodes of its own below it  (5.14).
    """
    t, w = (torch.as_tensor(part) for part in gauss_legendre(order))
    if smooth:
        yield t, w[:, None] * w
        return
    for t_q, w_q in zip(t, w, strict=True):
        weights = torch.zeros(order + 1, order + 1, dtype=t.dtype)
        weights[0, 1:] = 2 * w_q * t_q * w
        yield torch.cat([t_q[None], t_q * t]), weights


def _moments(link: Link, joint: Joint) -> PairMoments:
    """The pair moments of one path."""
    each = link.pair_moments(joint.m[None], joint.v[None], joint.c[None])
    return PairMoments(*(part[0] for part in each))


def _sum(j: Joint, E: PairMoments, weights: Float[Tensor, "q q"]) -> Matrix:
    """sum_qp weights_qp (5.1). First the terms whose features are both in one covariance, then the products of two."""
    full = j.c_kl.ndim == 4
    total = torch.einsum("qp,qpkl->kl" if full else "qp,qpk->k", weights * E.E11, j.c_kl)
    E21, E31, back = E.E12.T, E.E13.T, j.c_k.transpose(0, 1)  # back: Cov(f_q, d_l f_p)
    own, other = ("qk,pl->kl", "qk,qpl->kl") if full else ("qk,pk->k", "qk,qpk->k")
    third = "qpk,pl->kl" if full else "qpk,pk->k"
    fourth = "qpk,qpl->kl" if full else "qpk,qpk->k"

    def product(weight: Tensor, left: Tensor, right: Tensor, form: str) -> Tensor:
        return torch.einsum("qp," + form, weights * weight, left, right)

    terms = [
        product(E.E11, j.m_k, j.m_k, own),
        product(E.E12 / 2, j.m_k, j.v_k, own),
        product(E21 / 2, j.v_k, j.m_k, own),
        product(E.E22 / 4, j.v_k, j.v_k, own),
        product(E21, j.m_k, back, other),
        product(E.E12, j.c_k, j.m_k, third),
        product(E31 / 2, j.v_k, back, other),
        product(E.E13 / 2, j.c_k, j.v_k, third),
        product(E.E22, j.c_k, back, fourth),
    ]
    return total + torch.stack(terms).sum(0)
