"""The places where lines cross the kinks of a map, given by functions of x and thresholds (MATH 1.12)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.lines.line import Line

PIECES = 128
"""The number of pieces of a line; a function is assumed to pass a threshold at most once in each."""
HALVINGS = 52
"""The number of halvings of a piece, after which float64 cannot distinguish its ends."""


class Levels(NamedTuple):
    """Functions h_i(x), each with the thresholds at which a derivative of a map may have a kink or a jump."""

    functions: Callable[[Float[Tensor, "k d"]], Float[Tensor, "k r"]]
    thresholds: tuple[Float[Tensor, " m"], ...]
    """The thresholds of each function, in ascending order."""

    def after(self, earlier: Callable[[Tensor], Tensor]) -> "Levels":
        """The same levels, as functions of the x of an earlier map."""
        return Levels(lambda x: self.functions(earlier(x)), self.thresholds)

    @staticmethod
    def joined(some: "Sequence[Levels | None]") -> "Levels | None":
        """The levels of several maps of the same x; None if none has any."""
        levels = [level for level in some if level is not None]
        if not levels:
            return None
        thresholds = tuple(threshold for level in levels for threshold in level.thresholds)
        return Levels(lambda x: torch.cat([level.functions(x) for level in levels], dim=1), thresholds)

    def crossings(self, line: Line) -> Float[Tensor, "b k"]:
        """The places t at which a function passes one of its thresholds; NaN fills up shorter rows.

        If a function passes a threshold twice in one piece, both places are missed; the adaptive rule refines there.
        """
        t = torch.linspace(0, 1, PIECES + 1, dtype=line.d.dtype)
        nodes = Line(line.x0, line.d, t.expand(len(line.d), -1)).points()
        values = self.functions(nodes.flatten(0, 1)).unflatten(0, nodes.shape[:2])
        found = [_passages(values[:, :, i].contiguous(), thresholds) for i, thresholds in enumerate(self.thresholds)]
        row, piece = (torch.cat([part[i] for part in found]) for i in (0, 1))
        function = torch.arange(len(found)).repeat_interleave(torch.tensor([len(rows) for rows, _, _ in found]))
        if len(row) == 0:
            return line.d.new_empty(len(line.d), 0)
        threshold = torch.cat([thresholds[w] for (_, _, w), thresholds in zip(found, self.thresholds, strict=True)])
        rising = values[row, piece + 1, function] > values[row, piece, function]
        places = self._bisected(line, row, function, threshold, rising, t[piece], t[piece + 1])
        return _by_row(row, places, len(line.d))

    def _bisected(
        self,
        line: Line,
        row: Int[Tensor, " n"],
        function: Int[Tensor, " n"],
        threshold: Float[Tensor, " n"],
        rising: Tensor,
        low: Float[Tensor, " n"],
        high: Float[Tensor, " n"],
    ) -> Float[Tensor, " n"]:
        x0, d = line.x0.expand_as(line.d)[row], line.d[row]
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            value = self.functions(x0 + middle[:, None] * d).gather(1, function[:, None])[:, 0]
            after = (value > threshold) == rising
            low, high = torch.where(after, low, middle), torch.where(after, middle, high)
        return (low + high) / 2


def _passages(
    values: Float[Tensor, "b q"], thresholds: Float[Tensor, " m"]
) -> tuple[Int[Tensor, " n"], Int[Tensor, " n"], Int[Tensor, " n"]]:
    """The (row, piece, threshold) triples for which the ends of the piece are on different sides of the threshold."""
    below = torch.searchsorted(thresholds, values)
    count = below.diff(dim=1).abs()
    row, piece = count.nonzero(as_tuple=True)
    many = count[row, piece]
    first = torch.minimum(below[row, piece], below[row, piece + 1])
    within = torch.arange(int(many.sum())) - (many.cumsum(0) - many).repeat_interleave(many)
    return row.repeat_interleave(many), piece.repeat_interleave(many), first.repeat_interleave(many) + within


def _by_row(row: Int[Tensor, " n"], places: Float[Tensor, " n"], rows: int) -> Float[Tensor, "b k"]:
    order = row.argsort(stable=True)
    row, places, counts = row[order], places[order], torch.bincount(row, minlength=rows)
    table = places.new_full((rows, int(counts.max())), torch.nan)
    return table.index_put((row, torch.arange(len(row)) - (counts.cumsum(0) - counts)[row]), places)


def slowed(s: Float[Tensor, "b q"], kinks: Float[Tensor, "b k"]) -> tuple[Float[Tensor, "b q"], Float[Tensor, "b q"]]:
    """tau(s) and tau'(s): tau grows from 0 to 1, and its first three derivatives are zero at every kink  (5.18).

    Between two kinks tau grows like int u^3 (1 - u)^3 du. The share of s of a piece is the mean of its share of t and
    of an equal share, so that short pieces have nodes too.
    """
    inside = torch.where((kinks > 0) & (kinks < 1), kinks, torch.nan)
    if not bool(inside.isfinite().any()):
        return s, torch.ones_like(s)
    ends = s.new_tensor([0.0, 1.0]).expand(len(s), 2)
    places = torch.cat([ends[:, :1], inside.nan_to_num(nan=1.0).sort(dim=1).values, ends[:, 1:]], dim=1)
    width = places.diff(dim=1)
    share = (width + (width > 0) / (width > 0).sum(1, keepdim=True)) / 2
    begins = torch.cat([ends[:, :1], share.cumsum(1)], dim=1)
    piece = (torch.searchsorted(begins.contiguous(), s.contiguous(), right=True) - 1).clamp(0, width.shape[1] - 1)
    start, begin, w, h = (part.gather(1, piece) for part in (places, begins, width, share))
    u = ((s - begin) / h).clamp(0, 1)
    moved = u**4 * (35 - 84 * u + 70 * u**2 - 20 * u**3)
    return start + w * moved, w / h * 140 * (u * (1 - u)) ** 3
