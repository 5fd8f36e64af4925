"""The channels of a switched category: its parts through means and through variances (MATH 11.1a)."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.channel_gradients import ChannelGradients
from gplens.expectations.expectation import Expectation, Jet
from gplens.lines.switches import Corners
from gplens.paths.panels import gauss_legendre
from gplens.paths.path_psi import NodeValues

Moments = tuple[Float[Tensor, "p c q"], Float[Tensor, "p c q"]]
"""m and v."""
NODES, LEVELS = 12, 5
"""The Gauss nodes of a panel, and how often the panels of a segment are halved at most until its parts add up."""
PIECES = 32
"""The pieces of a segment if psi is a sum over samples with kinks. With them, channels are
within 1e-3 of the largest attribution. Recipe: tests/paths/test_switch_channels.py"""
ROUNDING = 1e-14
"""The rounding error of psi at the two ends of a segment, relative to psi."""


def switched_pairs(corners: Corners, block: int) -> tuple[Int[Tensor, " p"], Int[Tensor, " p"]]:
    """The lines on which a block is not switched, and for each the line that differs from it only in this block.

    The lines of a path are in binary order, with its changed blocks as digits.
    """
    begin = (corners.changed[:, block] & ~corners.switched[:, block]).nonzero()[:, 0]
    digits = corners.changed[begin, block + 1 :].sum(1)
    return begin, begin + 2**digits


def split_changes(
    gradients: ChannelGradients, begin: Moments, end: Moments, outputs: tuple[int, ...], tolerance: float
) -> Float[Tensor, "p o q"]:
    """The part of psi(end) - psi(begin) that belongs to the channel of each output  (11.1a)."""
    chosen = gradients.chosen(begin[0].shape[1], outputs)
    if gradients.expectation.kinked:
        by_m, by_v = _parts_of_pieces(gradients.expectation, begin, end, chosen.outputs)
    else:
        by_m, by_v = _parts(gradients.expectation, begin, end, chosen.outputs, tolerance)
    means, variances = chosen.masks(by_m)
    return (by_m[:, chosen.columns] * means + by_v[:, chosen.columns] * variances).sum(2)


def _parts(
    expectation: Expectation, begin: Moments, end: Moments, outputs: tuple[int, ...], tolerance: float
) -> tuple[Float[Tensor, "p o c q"], Float[Tensor, "p o c q"]]:
    """int psi_m dm and int psi_v dv along straight segments in m and sqrt(v), with more panels until they add up."""
    first, last = (expectation.jet(NodeValues(*moments), outputs) for moments in (begin, end))
    change, floor = last.value - first.value, ROUNDING * (last.value.abs() + first.value.abs())
    by_m = torch.zeros_like(first.by_m)
    by_v, missed = torch.zeros_like(by_m), torch.arange(len(by_m))
    for level in range(LEVELS):
        first_end, second_end = ((m[missed], v[missed]) for m, v in (begin, end))
        by_m[missed], by_v[missed] = _integrals(expectation, first_end, second_end, outputs, 2**level)
        misses = _misses(by_m[missed], by_v[missed], change[missed], floor[missed], tolerance)
        missed = missed[misses]
        if not len(missed):
            break
    return by_m, by_v


def _parts_of_pieces(
    expectation: Expectation, begin: Moments, end: Moments, outputs: tuple[int, ...]
) -> tuple[Float[Tensor, "p o c q"], Float[Tensor, "p o c q"]]:
    """Trapezoids on equal pieces of segments, each scaled to the change of psi on its piece  (11.1b).

    A logarithm of samples has derivatives up to 1/tau where the last sample loses its improvement. No rule of a few
    nodes integrates them, but their ratio is bounded and smooth.
    """
    u = torch.linspace(0, 1, PIECES + 1, dtype=begin[0].dtype)
    jet, dm, sd, ds = _on_segments(expectation, begin, end, outputs, u)
    by_m = _means_of_neighbours(jet.by_m.unflatten(3, (-1, len(u))) * dm[:, None, ..., None]) / PIECES
    by_v = torch.zeros_like(by_m)
    if jet.by_v is not None:
        by_v = _means_of_neighbours(jet.by_v.unflatten(3, (-1, len(u))) * (2 * sd * ds[..., None])[:, None]) / PIECES
    change = jet.value.unflatten(2, (-1, len(u))).diff(dim=-1)[:, :, None]
    total, size = (by_m + by_v).sum(2, keepdim=True), (by_m.abs() + by_v.abs()).sum(2, keepdim=True)
    scale = (change / total).nan_to_num(nan=1.0).clamp(0, 1)
    rest = (change - scale * total) / torch.where(size > 0, size, 1.0)
    by_m, by_v = ((scale * part + rest * part.abs()).sum(-1) for part in (by_m, by_v))  # (11.1b)
    return by_m, by_v


def _means_of_neighbours(values: Float[Tensor, "*n u"]) -> Float[Tensor, "*n pieces"]:
    return (values[..., 1:] + values[..., :-1]) / 2


def _misses(by_m: Tensor, by_v: Tensor, change: Tensor, floor: Tensor, tolerance: float) -> Bool[Tensor, " p"]:
    """Whether the parts of a segment do not add up to the change of psi."""
    size = torch.maximum(change.abs(), torch.maximum(by_m.abs(), by_v.abs()).amax(2))
    gap = ((by_m + by_v).sum(2) - change).abs()
    return (gap > tolerance * size + floor).flatten(1).any(1)


def _integrals(
    expectation: Expectation, begin: Moments, end: Moments, outputs: tuple[int, ...], panels: int
) -> tuple[Float[Tensor, "p o c q"], Float[Tensor, "p o c q"]]:
    u, w = (torch.as_tensor(part, dtype=begin[0].dtype) for part in gauss_legendre(NODES))
    u = ((torch.arange(panels, dtype=u.dtype)[:, None] + u) / panels).flatten()
    w = (w / panels).repeat(panels)
    jet, dm, sd, ds = _on_segments(expectation, begin, end, outputs, u)
    by_m = (jet.by_m.unflatten(3, (-1, len(u))) @ w) * dm[:, None]
    if jet.by_v is None:
        return by_m, torch.zeros_like(by_m)
    by_sd = jet.by_v.unflatten(3, (-1, len(u))) * (2 * sd)[:, None]
    return by_m, (by_sd @ w) * ds[:, None]  # (11.1a)


def _on_segments(
    expectation: Expectation, begin: Moments, end: Moments, outputs: tuple[int, ...], u: Float[Tensor, " u"]
) -> tuple[Jet, Float[Tensor, "p c q"], Float[Tensor, "p c q u"], Float[Tensor, "p c q"]]:
    """psi on segments, the change of their means, their deviations, and the change of these."""
    s = begin[1].sqrt()
    dm, ds = end[0] - begin[0], end[1].sqrt() - s
    m, sd = begin[0][..., None] + dm[..., None] * u, s[..., None] + ds[..., None] * u
    return expectation.jet(NodeValues(m.flatten(2), sd.square().flatten(2)), outputs), dm, sd, ds
