"""Weights of m and v at nodes, and psi at nodes of its own on whole paths (MATH 4.1, 4.15 to 4.17)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Expectation, Jet
from gplens.lines.forms import Form
from gplens.paths.integrand import Question
from gplens.paths.path_rules import LAST, MOMENTS, PSI_SIZES, PathRule, as_numbers, path_rule
from gplens.processes.process import Marginals

FEWEST, PER_SLOPE = 7.0, 1.3
"""Nodes of psi for a flat path, and for each change of m by the resolution of the link (4.10) within a whole path. The
largest distance between n nodes of Gauss is 1.6/n, so that psi does not take another course between two of them."""


@final
class NodeValues(Marginals):
    """m and v as numbers, which do not depend on features."""

    def __init__(self, m: Float[Tensor, "b c q"], v: Float[Tensor, "b c q"]) -> None:
        self.known = m, v

    def means(self) -> Float[Tensor, "b c q"]:
        return self.known[0]

    def variances(self) -> Float[Tensor, "b c q"]:
        return self.known[1]

    def pull_back(self, wm: Float[Tensor, "b p c q"], wv: Float[Tensor, "b p c q"] | None) -> Form:
        return Form()


@final
@dataclass(frozen=True, eq=False)
class NodeWeights:
    """The weights of m and v at the nodes, for the r sums of a rule, of o outputs each."""

    by_m: Float[Tensor, "s r o c q"]
    by_v: Float[Tensor, "s r o c q"] | None
    """None if the target does not depend on v."""

    @staticmethod
    def of(jet: Jet, channels: Float[Tensor, "#s r q"]) -> "NodeWeights":
        """The weights of a rule times psi_m and psi_v."""
        w = channels[:, :, None, None]
        return NodeWeights(w * jet.by_m[:, None], None if jet.by_v is None else w * jet.by_v[:, None])

    @staticmethod
    def spread(jet: Jet, matrix: Float[Tensor, "p rq"], sums: int) -> "NodeWeights":
        """From psi_m and psi_v at their own nodes to weights at the nodes that m and v are interpolated from (4.16)."""
        by_v = None if jet.by_v is None else _spread(jet.by_v, matrix, sums)
        return NodeWeights(_spread(jet.by_m, matrix, sums), by_v)

    @staticmethod
    def of_moments(
        by_m: Float[Tensor, "s o c j"], by_v: Float[Tensor, "s o c j"], moments: Float[Tensor, "r j q"]
    ) -> "NodeWeights":
        """From  int psi P_j dt:  m and v are interpolated from the nodes of a rule with these moments  (4.11)."""
        return NodeWeights(*(part[:, None] @ moments[:, None] for part in (by_m, by_v)))

    def sums(self, marginals: Marginals, d: Float[Tensor, "s d"]) -> Float[Tensor, "s r o d"]:
        """d_k sum_q [by_m d_k m + by_v d_k v]  (4.1)."""
        s, r, o = self.by_m.shape[:3]
        sums = self.pulled_back(marginals).evaluate(d.new_empty(s, r * o, d.shape[1]))
        return sums.mul_(d[:, None]).unflatten(1, (r, o))

    def part(self, sums: slice) -> "NodeWeights":
        """The weights of some of the sums."""
        return NodeWeights(self.by_m[:, sums], None if self.by_v is None else self.by_v[:, sums])

    def times(self, by_m: Float[Tensor, "s c q k"], by_v: Float[Tensor, "s c q k"] | None) -> Float[Tensor, "s r o k"]:
        """sum_cq of the weights times derivatives of m and v in k directions  (4.18a)."""
        sums = self.by_m.flatten(1, 2).flatten(2) @ by_m.flatten(1, 2)
        if self.by_v is not None and by_v is not None:
            sums += self.by_v.flatten(1, 2).flatten(2) @ by_v.flatten(1, 2)
        return sums.unflatten(1, self.by_m.shape[1:3])

    def pulled_back(self, marginals: Marginals) -> Form:
        """sum_q [by_m d_k m + by_v d_k v] as a form; its first channels are the outputs of the first sum."""
        return marginals.pull_back(self.by_m.flatten(1, 2), None if self.by_v is None else self.by_v.flatten(1, 2))

    @staticmethod
    def merged(chosen: Bool[Tensor, " s"], inside: "NodeWeights", outside: "NodeWeights") -> "NodeWeights":
        """Split into the weights of the chosen panels and those of the others."""

        def placed(a: Tensor, b: Tensor) -> Tensor:
            out = a.new_empty(chosen.shape[0], *a.shape[1:])
            out[chosen], out[~chosen] = a, b
            return out

        by_v = None
        if inside.by_v is not None:
            by_v = placed(inside.by_v, torch.zeros_like(outside.by_m) if outside.by_v is None else outside.by_v)
        return NodeWeights(placed(inside.by_m, outside.by_m), by_v)


def _spread(partials: Float[Tensor, "s o c p"], matrix: Float[Tensor, "p rq"], sums: int) -> Float[Tensor, "s r o c q"]:
    s, o, c, _ = partials.shape
    return (partials @ matrix).view(s, o, c, sums, -1).permute(0, 3, 1, 2, 4)


@final
@dataclass(frozen=True, eq=False)
class PathPsi:
    """What psi contributes to the sums over e paths."""

    weights: NodeWeights
    """Of m and v at the nodes of the latent functions, for all sums of the rule  (4.16)."""
    ends: Float[Tensor, "e o _"]
    """T at the ends of the rule."""
    slopes: Float[Tensor, "e j o"]
    """int P_j' T  (4.17)."""


def path_psi(question: Question, marginals: Marginals, count: int, finer: float, ends: int) -> PathPsi:
    """Psi on as many nodes as each path needs; those with equally many are evaluated together."""
    rule = path_rule(count, count, ends)
    steps = steepness(question.expectation, marginals, rule.gaps)
    if steps is None:
        return _sums(question.expectation.jet(marginals, question.outputs), rule)
    wanted = steps.mul_(finer * PER_SLOPE).add_(finer * FEWEST).clamp_(min=count)
    index = torch.bucketize(wanted, as_numbers(PSI_SIZES))
    least, most = (int(extreme) for extreme in index.aminmax())
    if most < len(PSI_SIZES):
        return _on_nodes(question, marginals, count, index, least, most, ends)
    last = len(PSI_SIZES) - 1
    psi = _on_nodes(question, marginals, count, index.clamp(max=last), min(least, last), last, ends)
    psi.slopes[index > last] = torch.inf  # a step may hide between the most nodes: this path needs panels
    return psi


def _on_nodes(
    question: Question, marginals: Marginals, count: int, index: Int[Tensor, " e"], least: int, most: int, ends: int
) -> PathPsi:
    """Psi on nodes whose number is PSI_SIZES[index], from `least` to `most`."""
    if least == most:
        rule = path_rule(count, PSI_SIZES[most], ends)
        if PSI_SIZES[most] > count:
            marginals = NodeValues(*_between(marginals, rule, slice(None)))
        return _sums(question.expectation.jet(marginals, question.outputs), rule)
    groups = [(index == size).nonzero()[:, 0] for size in range(least, most + 1)]
    rules = [path_rule(count, PSI_SIZES[size], ends) for size in range(least, most + 1)]
    return _by_size(question, marginals, rules, groups)


def steepness(expectation: Expectation, marginals: Marginals, gaps: Float[Tensor, " _"]) -> Float[Tensor, " e"] | None:
    """The fastest change of m and v along a path, in units of the resolution of psi; None if it does not matter.

    `gaps` are the distances between the nodes that are looked at, which are the first ones.
    """
    resolution = expectation.resolution(marginals)
    if resolution is None:
        return None
    q = gaps.shape[0] + 1
    near = torch.minimum(resolution[..., 1:q], resolution[..., : q - 1])
    m, v = (part[..., :q].diff(dim=2).abs_() for part in (marginals.m, marginals.v))
    steps = m.addcdiv_(v, near, value=0.5).div_(near.mul_(gaps))
    return steps.nan_to_num_(nan=0.0).amax((1, 2))


def _by_size(
    question: Question, marginals: Marginals, rules: list[PathRule], groups: list[Int[Tensor, " _"]]
) -> PathPsi:
    """Paths with different numbers of nodes. Psi is evaluated once, at all nodes of all paths as those of one."""
    nodes = [_between(marginals, rule, rows) for rule, rows in zip(rules, groups, strict=True)]
    m, v = (torch.cat([part.movedim(1, 0).flatten(1) for part in parts], dim=1) for parts in zip(*nodes, strict=True))
    sizes = [part.shape[0] * part.shape[2] for part, _ in nodes]
    value, by_m, by_v = question.expectation.jet(NodeValues(m[None], v[None]), question.outputs)

    def of_groups(tensor: Float[Tensor, "1 *oc n"]) -> list[Tensor]:
        parts = zip(tensor[0].split(sizes, dim=-1), groups, strict=True)
        return [part.unflatten(-1, (len(rows), -1)).movedim(-2, 0) for part, rows in parts if len(rows)]

    used = [rule for rule, rows in zip(rules, groups, strict=True) if len(rows)]
    by_vs = [None] * len(used) if by_v is None else of_groups(by_v)
    jets = [Jet(*jet) for jet in zip(of_groups(value), of_groups(by_m), by_vs, strict=True)]
    return _joined([_sums(jet, rule) for jet, rule in zip(jets, used, strict=True)], torch.cat(groups).argsort())


def _between(
    marginals: Marginals, rule: PathRule, rows: Int[Tensor, " k"] | slice
) -> tuple[Float[Tensor, "k c p"], Float[Tensor, "k c p"]]:
    """m and v at the nodes of psi  (4.15). A variance below zero is an error of interpolation."""
    m, v = marginals.m[rows], marginals.v[rows]
    if rule.s.shape[0] == rule.t.shape[0]:
        return m, v
    return m @ rule.between, (v @ rule.between).clamp(min=0)


def _sums(jet: Jet, rule: PathRule) -> PathPsi:
    """(4.16); without interpolation, M is the identity."""
    same = rule.s.shape[0] == rule.t.shape[0]
    weights = NodeWeights.of(jet, rule.channels) if same else NodeWeights.spread(jet, rule.spread, MOMENTS + LAST)
    return PathPsi(weights, jet.value[..., rule.s.shape[0] - rule.ends :], rule.slopes @ jet.value.mT)


def _joined(parts: list[PathPsi], order: Int[Tensor, " e"]) -> PathPsi:
    """Several sets of paths as one, in another order."""

    def joined(tensors: list[Tensor]) -> Tensor:
        return torch.cat(tensors)[order]

    by_v = [part.weights.by_v for part in parts if part.weights.by_v is not None]
    weights = NodeWeights(joined([part.weights.by_m for part in parts]), joined(by_v) if by_v else None)
    return PathPsi(weights, joined([part.ends for part in parts]), joined([part.slopes for part in parts]))
