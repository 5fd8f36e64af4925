"""Sums over the nodes of paths: their weights, the integrals, and the errors that are allowed (MATH 4.1, 4.8, 4.16)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.expectations.expectation import Jet
from gplens.lines.pull_back import Form
from gplens.processes.process import Marginals


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

        def of(partials: Float[Tensor, "s o c p"]) -> Float[Tensor, "s r o c q"]:
            return (partials @ matrix).unflatten(3, (sums, -1)).movedim(3, 1)

        return NodeWeights(of(jet.by_m), None if jet.by_v is None else of(jet.by_v))

    @staticmethod
    def of_moments(
        by_m: Float[Tensor, "s o c j"], by_v: Float[Tensor, "s o c j"], moments: Float[Tensor, "r j q"]
    ) -> "NodeWeights":
        """From  int psi P_j dt:  m and v are interpolated from the nodes of a rule with these moments  (4.10)."""
        return NodeWeights(*(part[:, None] @ moments[:, None] for part in (by_m, by_v)))

    def sums(self, marginals: Marginals, d: Float[Tensor, "s d"]) -> Float[Tensor, "s r o d"]:
        """d_k sum_q [by_m d_k m + by_v d_k v]  (4.1)."""
        s, r, o = self.by_m.shape[:3]
        sums = self.pulled_back(marginals).evaluate(d.new_empty(s, r * o, d.shape[1]))
        return sums.mul_(d[:, None]).unflatten(1, (r, o))

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


@final
@dataclass(frozen=True)
class PathSums:
    """Integrals of some paths, their estimated errors, and their numbers of nodes."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"]
    worst: Float[Tensor, "b o"]
    """The sum over panels of the largest error of a feature."""
    nodes: Int[Tensor, " b"]
    uninformed: Bool[Tensor, " b"]
    """Paths on which the errors of features cancel, so that attributions add up however large the errors are."""

    def replaced(self, rows: Bool[Tensor, " b"], again: "PathSums") -> "PathSums":
        """With some paths done again. Numbers of nodes add up."""
        return PathSums(
            self.values.index_put((rows,), again.values),
            self.error.index_put((rows,), again.error),
            self.worst.index_put((rows,), again.worst),
            self.nodes.index_put((rows,), again.nodes, accumulate=True),
            self.uninformed.index_put((rows,), again.uninformed),
        )


def joined_paths(parts: list[PathSums], order: Int[Tensor, " b"]) -> PathSums:
    """Several sets of paths as one, in another order."""
    columns = zip(*((part.values, part.error, part.worst, part.nodes, part.uninformed) for part in parts), strict=True)
    return PathSums(*(torch.cat(column)[order] for column in columns))


class TargetChange(ABC):
    """The change of the target along b paths, which the errors of integrals are relative to."""

    @property
    @abstractmethod
    def change(self) -> Float[Tensor, "b o"]:
        """T(x) - T(x0)."""

    @property
    @abstractmethod
    def rounding(self) -> Float[Tensor, "b o"]:
        """The size of the rounding error of `change`."""

    @property
    @abstractmethod
    def floor(self) -> float:
        """The absolute error of the target itself, which refinement cannot reduce."""


def allowed_error(target: TargetChange, values: Float[Tensor, "b o d"], tolerance: float) -> Float[Tensor, "b o"]:
    """The tolerance times the larger of |T(x) - T(x0)| and the largest |attribution| (4.8), plus the target's floor."""
    largest = torch.maximum(target.change.abs(), values.abs().amax(2))
    return tolerance * (largest + target.rounding) + target.floor


def ratio(a: Float[Tensor, "*b"], b: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """a / b, with 0/0 = 0: no change means no error."""
    return (a / b).nan_to_num(nan=0.0, posinf=torch.inf)
