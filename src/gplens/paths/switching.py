"""Paths that switch categories: multilinear in the categories, straight in the numbers, at the same t (MATH 10.1)."""

from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from gplens.expectations.channel_gradients import ChannelGradients
from gplens.lines.line import Line
from gplens.lines.switches import Corners, Switches
from gplens.paths.gradient import TargetGradient
from gplens.paths.panel_nodes import Known
from gplens.paths.panels import Panels, gauss_kronrod
from gplens.paths.path_psi import NodeWeights
from gplens.paths.switch_channels import PIECES, Moments, split_changes, switched_pairs

ORDER, HALVINGS, GAIN = 7, 12, 0.1
"""Of channels of categories: the Gauss nodes of a panel in t, how often panels are halved at most, and the part of
|Kronrod - Gauss| that is taken as the error of a panel."""


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

    def take(self, rows: Int[Tensor, " k"]) -> "SwitchingGradient":
        taken = SwitchingGradient(self.question, self.starts[rows], self.x[rows], self.scratch)
        if isinstance(self.expectation, ChannelGradients):
            taken.channels_of_categories = self.channels_of_categories[rows]
        return taken

    def sums(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o d"]:
        """The sums of (10.1), in blocks of lines. Channels of categories are averages over t, equal at all nodes."""
        out = weights.new_zeros(*weights.shape[:2], len(self.outputs), self.x.shape[1])
        corners = self.switches.corners(self.starts[rows], self.x[rows])
        for lines in torch.arange(len(corners.owner)).split(self._lines_in_a_block(t.shape[1], weights.shape[1])):
            part = corners.take(lines)
            out.index_add_(0, part.owner, self._sums(part, t[part.owner], weights[part.owner]))
        if isinstance(self.expectation, ChannelGradients):
            parts = self.channels_of_categories[rows][:, None]
            out[..., self.switches.places] += weights.sum(2)[..., None, None] * parts
        return out

    def _sums(
        self, corners: Corners, t: Float[Tensor, "l q"], weights: Float[Tensor, "l r q"]
    ) -> Float[Tensor, "l r o d"]:
        self.scratch.reset()
        marginals = self.process.along(Line(corners.x0, corners.d, t, self.scratch))
        jet = self.expectation.jet(marginals, self.outputs)
        numbers = NodeWeights.of(jet, weights * corners.weights(t)[:, None])
        sums = numbers.sums(marginals, corners.d)  # (10.1)
        if not isinstance(self.expectation, ChannelGradients):
            differences = torch.einsum("lrq,loq,ljq->lroj", weights, jet.value, corners.differences(t))  # (10.2)
            sums[..., self.switches.places] += differences
        return sums

    @cached_property
    def channels_of_categories(self) -> Float[Tensor, "b o j"]:
        """The parts of (10.2) that come through means and variances, by a rule in t of their own  (11.1a).

        Each node takes the segments of all pairs of lines. What the parts add up to is known from the attributions, so
        that their nodes need not be where psi has kinks.
        """
        assert isinstance(self.expectation, ChannelGradients)
        nodes, kronrod, gauss = (torch.as_tensor(part) for part in gauss_kronrod(ORDER))
        rule = torch.stack([kronrod, kronrod - gauss])
        total = self.x.new_zeros(self.rows, len(self.outputs), len(self.switches.blocks))
        panels = Panels.equal(torch.ones(self.rows, dtype=torch.long))
        for halved in range(HALVINGS + 1):
            t, owner = panels.start[:, None] + panels.width[:, None] * nodes, panels.owner
            parts, apart = self._split(owner, t, panels.width[:, None, None] * rule).unbind(1)
            size = total.index_add(0, owner, parts).abs().flatten(1).amax(1)
            missed = (GAIN * apart.abs().flatten(1).amax(1) > self.question.tolerance * size[owner]) & (
                halved < HALVINGS
            )
            total.index_add_(0, owner[~missed], parts[~missed])
            if not bool(missed.any()):
                break
            panels = panels.take(missed).halved()
        return total

    def _split(
        self, rows: Int[Tensor, " s"], t: Float[Tensor, "s q"], weights: Float[Tensor, "s r q"]
    ) -> Float[Tensor, "s r o j"]:
        """The weighted sums over the nodes t, for each pair of lines that differ in one block."""
        assert isinstance(self.expectation, ChannelGradients)
        corners = self.switches.corners(self.starts[rows], self.x[rows])
        m, v = self._moments(corners, t)
        out = t.new_zeros(*weights.shape[:2], len(self.outputs), len(self.switches.blocks))
        size = self._lines_in_a_block(PIECES * t.shape[1], 1)
        for block in range(len(self.switches.blocks)):
            for begin, end in zip(*(part.split(size) for part in switched_pairs(corners, block)), strict=True):
                outside = corners.take(begin)
                owner, ends = outside.owner, ((m[begin], v[begin]), (m[end], v[end]))
                changes = split_changes(self.expectation, *ends, self.outputs, self.question.tolerance / 10)
                probability = -outside.differences(t[owner])[:, block]
                out[..., block].index_add_(
                    0, owner, torch.einsum("lrq,loq,lq->lro", weights[owner], changes, probability)
                )
        return out

    def _moments(self, corners: Corners, t: Float[Tensor, "s q"]) -> Moments:
        moments = []
        for lines in torch.arange(len(corners.owner)).split(self._lines_in_a_block(t.shape[1], 1)):
            self.scratch.reset()
            part = corners.take(lines)
            marginals = self.process.along(Line(part.x0, part.d, t[part.owner], self.scratch))
            moments.append((marginals.m.clone(), marginals.v.clone()))
        m, v = (torch.cat(parts) for parts in zip(*moments, strict=True))
        return m, v
