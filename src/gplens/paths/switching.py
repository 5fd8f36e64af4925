"""Paths that switch categories: multilinear in the categories, straight in the numbers, at the same t (MATH 10.1)."""

from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gplens.expectations.channel_gradients import ChannelGradients
from gplens.lines.line import Line
from gplens.lines.switches import Corners, Switches
from gplens.paths.panel_nodes import Known, NodeWeights
from gplens.paths.switch_channels import NODES, Moments, split_changes, switched_pairs
from gplens.paths.target_gradient import TargetGradient
from gplens.processes.process import Marginals


@final
class SwitchingGradient(TargetGradient):
    """The gradient on the 2^c lines of a path that changes c categories, which are constant on each line.

    number k:    d_k sum_S w_S(t) d_k T(x_num(t), S)                  w_S = t^|S| (1 - t)^(c - |S|)      (10.1)
    category j:  E_S[T given j in S] - E_S[T given j not in S]        every other one switched with probability t
    """

    @property
    def switches(self) -> Switches:
        """The blocks that paths change."""
        assert self.question.switches is not None
        return self.question.switches

    def measured(self) -> Known:
        """The length of the longest line of each path, and the kinks of all its lines; NaN where a path has fewer."""
        corners = self.switches.corners(self.starts, self.x)
        line = Line(corners.x0, corners.d, self.x.new_zeros(len(corners.d), 0))
        length = self.x.new_zeros(self.rows).scatter_reduce(0, corners.owner, self.process.length(line), "amax")
        kinks, counts = self.process.kinks(line), torch.bincount(corners.owner, minlength=self.rows).tolist()
        if not kinks.shape[1]:
            return Known(length, kinks.new_empty(self.rows, 0))
        side_by_side = [part.flatten() for part in kinks.split(counts)]
        return Known(length, pad_sequence(side_by_side, batch_first=True, padding_value=torch.nan))

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """The sums of (10.1), in blocks of lines."""
        out = weights.new_zeros(*weights.shape[:2], len(self.outputs), self.x.shape[1])
        corners = self.switches.corners(self.starts[rows], self.x[rows])
        moments = []
        for lines in torch.arange(len(corners.owner)).split(self._lines_in_a_block(t.shape[1], weights.shape[1])):
            part = corners.take(lines)
            sums, marginals = self._sums(part, t[part.owner], weights[part.owner])
            out.index_add_(0, part.owner, sums)
            if isinstance(self.expectation, ChannelGradients):
                moments.append((marginals.m.clone(), marginals.v.clone()))
        if isinstance(self.expectation, ChannelGradients):
            m, v = (torch.cat(parts) for parts in zip(*moments, strict=True))
            self._add_channels(self.expectation, out, corners, (m, v), t, weights)
        return out

    def _sums(
        self, corners: Corners, t: Float[Tensor, "l q"], weights: Float[Tensor, "l r q"]
    ) -> tuple[Float[Tensor, "l r o d"], Marginals]:
        self.scratch.reset()
        marginals = self.process.along(Line(corners.x0, corners.d, t, self.scratch))
        jet = self.expectation.jet(marginals, self.outputs)
        numbers = NodeWeights.of(jet, weights * corners.weights(t)[:, None])
        sums = numbers.sums(marginals, corners.d)  # (10.1)
        if not isinstance(self.expectation, ChannelGradients):
            differences = torch.einsum("lrq,loq,ljq->lroj", weights, jet.value, corners.differences(t))  # (10.2)
            sums[..., self.switches.places] += differences
        return sums, marginals

    def _add_channels(
        self,
        gradients: ChannelGradients,
        out: Float[Tensor, "s r o d"],
        corners: Corners,
        moments: Moments,
        t: Float[Tensor, "s q"],
        weights: Float[Tensor, "s r q"],
    ) -> None:
        """The parts of (10.2) that come through means and variances, for each pair of lines  (11.1a)."""
        m, v = moments
        tolerance = torch.inf if gradients.expectation.kinked else self.question.tolerance / 10
        size = self._lines_in_a_block(NODES * t.shape[1], 1)
        for block, place in enumerate(self.switches.places):
            pairs = zip(*(part.split(size) for part in switched_pairs(corners, block)), strict=True)
            for begin, end in pairs:
                outside = corners.take(begin)
                ends = (m[begin], v[begin]), (m[end], v[end])
                changes = split_changes(gradients, *ends, self.outputs, tolerance)
                probability = -outside.differences(t[outside.owner])[:, block]
                parts = torch.einsum("lrq,loq,lq->lro", weights[outside.owner], changes, probability)
                out[..., place].index_add_(0, outside.owner, parts)
