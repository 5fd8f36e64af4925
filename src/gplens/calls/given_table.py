"""The inputs, the baseline and the columns that a user gave, as tensors, names and sets of columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.reading import encoder_of
from gplens.adapters.tables import Table, read_table
from gplens.baselines import Baseline, as_baseline
from gplens.explanation.declared_categories import Categories, category_texts, declared_blocks, with_blocks
from gplens.explanation.original_columns import sets_of
from gplens.explanation.selection import group_columns
from gplens.processes.arcs import Arcs, Ends


@final
@dataclass(frozen=True, eq=False)
class Given:
    """The table to explain, its baseline, and which columns belong together. Invalid arguments are refused here."""

    table: Table
    original: Any
    """The table as it was given, where columns of the table are not inputs of the model; else None."""
    encoder: Encoder | None
    baseline: Baseline
    baselines: Float[Tensor, "#b s d"]
    names: tuple[str, ...]
    """Names of the columns of the table."""
    groups: Mapping[str, Sequence[str]] | None
    """Groups of columns whose attributions are added up, by name; blocks of categories are groups too."""
    grouped: dict[str, list[int]] | None
    """The same groups, by the indices of their columns."""
    categories: Categories | None
    declared: list[list[int]]
    """Blocks of inputs that the user declares to be categories."""
    arcs: Arcs | None
    """Pairs of inputs along which paths follow an arc; None if all paths are straight in the inputs."""
    ends: Ends
    """Inputs and baselines in the coordinates in which paths are straight."""

    @staticmethod
    def read(
        model: Any,
        X: Any,
        baseline: Any,
        feature_names: Any,
        groups: Any,
        categories: Any,
    ) -> "Given":
        """Read what was passed to `explain`, for the columns that the model takes."""
        encoder = encoder_of(model)
        baseline = as_baseline(_default_baseline(model) if baseline is None else baseline, encoder)
        table, original = (read_table(X, "X"), None) if encoder is None else encoder.read(X, "X")
        table.check_columns("the baseline", baseline.names)
        names = table.feature_names(feature_names, None if encoder is None else encoder.names)
        declared = [] if categories is None else declared_blocks(names, categories)
        if categories is not None:
            groups = with_blocks(groups, categories)
        grouped = None if groups is None else group_columns(names, groups)
        baselines = baseline.rows(table.values)
        if encoder is not None:
            declared = [[i for column in block for i in encoder.blocks[column]] for block in declared]
        elif categories is not None:
            for rows in (table.values, baselines.flatten(0, 1)):
                category_texts(names, names, categories, rows)
        arcs, ends = _coordinates(encoder, table.values, baselines)
        parts = (table, original, encoder, baseline, baselines, names, groups, grouped, categories, declared)
        return Given(*parts, arcs, ends)

    @property
    def X(self) -> Float[Tensor, "b d"]:
        """The inputs of the model."""
        return self.table.values

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs of the model."""
        return self.names if self.encoder is None else self.encoder.inputs

    @property
    def sets(self) -> list[list[int]] | None:
        """Inputs whose attributions are added up before their spread is computed; None if each input is a column."""
        if self.encoder is None or not self.encoder.sums:
            return None
        return sets_of(self.encoder.blocks, self.grouped)

    @property
    def summed(self) -> list[list[int]] | None:
        """Inputs whose attributions the user sees only as sums; None if each input is shown."""
        return list(self.grouped.values()) if self.sets is None and self.grouped is not None else self.sets

    def columns_of(self, inputs: Sequence[int]) -> list[str]:
        """The names of the columns of the table to which some inputs of the model belong."""
        if self.encoder is None:
            return [name for place, name in enumerate(self.inputs) if place in inputs]
        blocks = zip(self.names, self.encoder.blocks, strict=True)
        return [name for name, block in blocks if set(inputs) & set(block)]

    def first(self, done: int) -> tuple[Float[Tensor, "b d"], Float[Tensor, "#b s d"]]:
        """The first inputs, and their baselines, in the coordinates in which paths are straight."""
        X, baselines = self.ends
        return X[:done], baselines if len(baselines) == 1 else baselines[:done]


def _coordinates(
    encoder: Encoder | None, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> tuple[Arcs | None, Ends]:
    """Radius and angle in the place of (cos, sin) where some path goes round; else the inputs themselves."""
    if encoder is None or not encoder.arcs:
        return None, (X, baselines)
    arcs = Arcs(X.shape[1], encoder.arcs)
    ends = arcs.ends(X, baselines)
    return (None, (X, baselines)) if ends is None else (arcs, ends)


def _default_baseline(model: Any) -> Baseline | None:
    """The background that an estimator of gplens keeps; None for any other model."""
    kept = getattr(model, "default_baseline", None)
    return kept if isinstance(kept, Baseline) else None
