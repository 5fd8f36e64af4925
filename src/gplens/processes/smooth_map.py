"""Maps of the inputs of a process, with exact derivatives, in sequence or side by side (MATH 1.12)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.processes.crossings import Levels
from gplens.processes.transformed import AffineMap

Back = Callable[[Float[Tensor, "k p e"]], Float[Tensor, "k p d"]]
"""The product of p row vectors with the Jacobian at each of k points."""


class MapJet(NamedTuple):
    """A map at points, and its Jacobian there."""

    values: Float[Tensor, "k e"]
    back: Back


@final
@dataclass(frozen=True, eq=False)
class SmoothMap:
    """x' = phi(x), continuous, with a derivative everywhere except at the kinks given by `levels`."""

    at: Callable[[Float[Tensor, "k d"]], MapJet]
    depends: Bool[Tensor, "d e"]
    """Whether column j of x' depends on column k of x."""
    levels: Levels | None = None
    """None for a map without kinks."""
    affine: AffineMap | None = None
    """The same map as an affine one, if it is affine; else None."""

    def __call__(self, x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        """The transformed inputs x'."""
        return self.at(x).values

    @property
    def inputs(self) -> int:
        """The number of columns of x."""
        return self.depends.shape[0]

    @property
    def outputs(self) -> int:
        """The number of columns of x'."""
        return self.depends.shape[1]

    @staticmethod
    def of(affine: AffineMap) -> "SmoothMap":
        """The smooth map of an affine one, whose Jacobian J = W' is constant."""
        return SmoothMap(lambda x: MapJet(affine(x), lambda G: G @ affine.W.T), affine.W != 0, affine=affine)

    @staticmethod
    def columns(features: int, kept: Int[Tensor, " e"] | None = None) -> "SmoothMap":
        """Some of the features, or all of them."""
        return SmoothMap.of(AffineMap.columns(features, kept))

    @staticmethod
    def elementwise(
        features: int,
        function: Callable[[Float[Tensor, "k d"]], tuple[Float[Tensor, "k d"], Float[Tensor, "k d"]]],
        levels: Levels | None = None,
    ) -> "SmoothMap":
        """x'_k = phi_k(x_k), from a function that returns phi_k and its derivative."""

        def at(x: Float[Tensor, "k d"]) -> MapJet:
            values, slopes = function(x)
            return MapJet(values, lambda G: G * slopes[:, None])

        return SmoothMap(at, torch.eye(features, dtype=torch.bool), levels)

    def then(self, following: "SmoothMap") -> "SmoothMap":
        """This map followed by another one: the chain rule  (1.12)."""
        if self.affine is not None and following.affine is not None:
            return SmoothMap.of(self.affine.then(following.affine))

        def at(x: Float[Tensor, "k d"]) -> MapJet:
            inner = self.at(x)
            outer = following.at(inner.values)
            return MapJet(outer.values, lambda G: inner.back(outer.back(G)))

        levels = Levels.joined([self.levels, None if following.levels is None else following.levels.after(self)])
        return SmoothMap(at, (self.depends.double() @ following.depends.double()) > 0, levels)

    @staticmethod
    def side_by_side(
        features: int, outputs: int, parts: "Sequence[tuple[Sequence[int], Sequence[int], SmoothMap]]"
    ) -> "SmoothMap":
        """Maps side by side, each `(columns of x, columns of x', map)`. Maps may share columns of x."""
        blocks = [(torch.tensor(rows).long(), torch.tensor(columns).long(), part) for rows, columns, part in parts]
        depends = torch.zeros(features, outputs, dtype=torch.bool)
        for rows, columns, part in blocks:
            depends[rows[:, None], columns] = part.depends
        if all(part.affine is not None for _, _, part in blocks):
            return SmoothMap.of(_affine_side_by_side(features, outputs, blocks))

        def at(x: Float[Tensor, "k d"]) -> MapJet:
            jets = [part.at(x[:, rows]) for rows, _, part in blocks]
            values = x.new_zeros(len(x), outputs)
            for (_, columns, _), jet in zip(blocks, jets, strict=True):
                values[:, columns] = jet.values

            def back(G: Float[Tensor, "k p e"]) -> Float[Tensor, "k p d"]:
                total = G.new_zeros(*G.shape[:2], features)
                for (rows, columns, _), jet in zip(blocks, jets, strict=True):
                    total.index_add_(2, rows, jet.back(G[:, :, columns]))
                return total

            return MapJet(values, back)

        levels = [_of_columns(part.levels, rows) for rows, _, part in blocks]
        return SmoothMap(at, depends, Levels.joined(levels))


def _affine_side_by_side(features: int, outputs: int, blocks: Sequence[tuple[Tensor, Tensor, SmoothMap]]) -> AffineMap:
    affine = [(rows, columns, part.affine) for rows, columns, part in blocks if part.affine is not None]
    W = torch.zeros(features, outputs, dtype=torch.float64)
    for rows, columns, part in affine:
        W[rows[:, None], columns] = part.W

    def apply(x: Float[Tensor, "k d"]) -> Float[Tensor, "k e"]:
        values = x.new_zeros(len(x), outputs)
        for rows, columns, part in affine:
            values[:, columns] = part(x[:, rows])
        return values

    return AffineMap(W, apply)


def _of_columns(levels: Levels | None, columns: Int[Tensor, " k"]) -> Levels | None:
    return None if levels is None else levels.after(lambda x: x[:, columns])
