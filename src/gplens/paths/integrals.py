"""Integrals over paths with their estimated errors, and attributions (MATH 4.1)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


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
    limit: Float[Tensor, "b o"] | None = None
    """The errors that are allowed, if no path has a larger one; else None."""

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


@final
@dataclass(frozen=True)
class Integral:
    """The result of a rule."""

    values: Float[Tensor, "b o d"]
    error: Float[Tensor, "b o d"] | None
    """Estimated error of every value; None if the rule has no estimate."""
    nodes: Int[Tensor, " b"]
    """The number of nodes at which each path was evaluated."""
    converged: Bool[Tensor, " b"] | None
    """Whether the tolerance was met; None if the rule has no estimate."""
    estimate: Float[Tensor, "b o d"] | None = None
    """The estimated errors, without the safety margins of the stated ones; None if unknown."""

    def replaced(self, rows: Bool[Tensor, " b"], again: "Integral") -> "Integral":
        """With some paths replaced by new results. Numbers of nodes are added."""

        def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
            return None if old is None or new is None else old.index_put((rows,), new)

        values, nodes = self.values.index_put((rows,), again.values), self.nodes.index_put((rows,), again.nodes, True)
        converged, estimate = put(self.converged, again.converged), put(self.estimate, again.estimate)
        return Integral(values, put(self.error, again.error), nodes, converged, estimate)


@final
@dataclass(frozen=True)
class Attribution:
    """Integrals over paths, and the targets at both ends."""

    integral: Integral
    start: Float[Tensor, "b o"]
    """T(x0)."""
    end: Float[Tensor, "b o"]
    """T(x)."""
    standard_error: Float[Tensor, "b o d"] | None = None
    """The standard error of the values, if they are averages over draws; else None."""
    background_std: Float[Tensor, "b o g"] | None = None
    """The standard deviation of the values over the rows of a background (4.12); None for a single baseline."""

    @staticmethod
    def of(tensors: Mapping[str, Tensor]) -> "Attribution":
        """The attribution with these `tensors()`."""
        error, converged, estimate = (tensors.get(name) for name in ("error", "converged", "estimate"))
        integral = Integral(tensors["values"], error, tensors["nodes"], converged, estimate)
        others = (tensors.get(name) for name in ("standard_error", "background_std"))
        return Attribution(integral, tensors["start"], tensors["end"], *others)

    def tensors(self) -> dict[str, Tensor]:
        """All tensors of the attribution and its integral, by name."""
        parts = {**vars(self.integral), **vars(self)}
        return {name: part for name, part in parts.items() if isinstance(part, Tensor)}

    def largest(self) -> Float[Tensor, "b o"]:
        """The larger of |T(x) - T(x0)| and the largest |attribution|, to which tolerances are relative (4.8)."""
        return torch.maximum((self.end - self.start).abs(), self.integral.values.abs().amax(2))

    def replaced(self, rows: Bool[Tensor, " b"], again: "Attribution") -> "Attribution":
        """With some rows replaced by new results. Numbers of nodes are added."""

        def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
            return None if old is None or new is None else old.index_put((rows,), new)

        return Attribution(
            self.integral.replaced(rows, again.integral),
            self.start.index_put((rows,), again.start),
            self.end.index_put((rows,), again.end),
            put(self.standard_error, again.standard_error),
            put(self.background_std, again.background_std),
        )


def ratio(a: Float[Tensor, "*b"], b: Float[Tensor, "*b"]) -> Float[Tensor, "*b"]:
    """a / b, with 0/0 = 0: no change means no error."""
    return (a / b).nan_to_num(nan=0.0, posinf=torch.inf)


def written_in_place(blocks: Iterator[Attribution], rows: int) -> Attribution:
    """Join blocks of rows. Each block is written to its place, so that the result never exists twice in memory."""
    whole, done = None, 0
    for block in blocks:
        whole, size = whole or empty_like(block, rows), block.end.shape[0]
        for name, tensor in whole.tensors().items():
            tensor[done : done + size] = block.tensors()[name]
        done += size
    assert whole is not None
    return whole


def empty_like(block: Attribution, rows: int) -> Attribution:
    """An empty result for `rows` rows."""
    return Attribution.of({name: part.new_empty(rows, *part.shape[1:]) for name, part in block.tensors().items()})
