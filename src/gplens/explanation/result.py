"""The result of explain(): attributions, the predictions that they add up to, and their accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, SupportsIndex, final

from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.adapters.labels import Labels
from gplens.explanation.channels import Channels
from gplens.explanation.inferred import Inferred
from gplens.explanation.provenance import Provenance
from gplens.explanation.selection import (
    group_columns,
    if_known,
    output_index,
    row_indices,
    single_members,
    sum_groups,
)
from gplens.explanation.shown import Shown
from gplens.explanation.spread import Spread
from gplens.explanation.support import Support

BY_ROW = frozenset(["values", "prediction", "baseline_prediction", "gap", "error", "standard_error", "background_std"])
BY_ROW |= {"nodes", "converged", "inputs"}
"""The fields with one entry for each input, besides the spread and the support."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class Explanation(Inferred, Shown):
    """Attributions of b predictions to d features, with an axis of outputs for a model that has several.

    For every input and output:  values.sum(-1) = prediction - baseline_prediction + gap  (4.4).

    Example:
        >>> explanation.values.shape
        torch.Size([2, 2])
        >>> explanation.feature_names
        ('heat', 'time')
        >>> float(explanation.gap.abs().max()) < 1e-6
        True
        >>> len(explanation[0])
        1
    """

    values: Float[Tensor, "b *c d"]
    """How much each feature moved the prediction away from the baseline's prediction, in units of the prediction."""
    prediction: Float[Tensor, "b *c"]
    baseline_prediction: Float[Tensor, "b *c"]
    gap: Float[Tensor, "b *c"]
    """The sum of the attributions minus the change of the prediction that they should add up to."""
    error: Float[Tensor, "b *c d"] | None
    """Estimated error of every value, from the quadrature and the target; None for a rule without an estimate."""
    nodes: Int[Tensor, " b"]
    """The number of points of the path at which the model was evaluated."""
    converged: Bool[Tensor, " b"] | None
    """Whether the values met the tolerance; None for a rule without an error estimate. Whether standard deviations and
    covariances met theirs is `spread.converged`."""
    inputs: Float[Tensor, "b d"]
    """What was explained: the rows as numbers, NaN for entries that are none, such as categories."""
    baseline: Float[Tensor, "s d"]
    """The baseline of each input, or the background rows over which the explanation is an average."""
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    """Names of the outputs; None for a model with a single output."""
    provenance: Provenance
    """The model, target, baseline, rule and tolerance, and what the adapter noted."""
    background: bool = False
    """Whether `baseline` is a background that all inputs share, rather than one row for each input."""
    baseline_weights: Float[Tensor, " s"] | None = None
    """The weight of each row of a background, adding up to one; None if all rows have the same weight."""
    background_std: Float[Tensor, "b *c d"] | None = None
    """The standard deviation of every attribution over the rows of a background (4.12); None for a single baseline. NaN
    for a group of several features, unless the group was passed to explain(groups=...)."""
    standard_error: Float[Tensor, "b *c d"] | None = None
    """Monte Carlo error of every value, if draws were unavoidable; else None."""
    spread: Spread | None = None
    """The posterior distribution of the attributions; None unless requested with explain(uncertainty=...)."""
    support: Support | None = None
    """How far the data determine the model along each path; None unless requested with explain(support=True)."""
    channels: Channels | None = None
    """The parts of each attribution that come through the mean ("mean") and the variance ("variance") of the latent
    functions  (11.1); None unless requested with explain(channels=True). Acquisition functions have them by default."""
    frame_backend: str | None = None
    """The library of the input frame ("pandas", "polars", ...), whose frames `to_frame` returns."""
    labels: Labels = Labels()
    """Names of the rows, and texts of inputs that are not numbers: `labels.input_text(i, k)`."""

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, rows: int | slice | Sequence[int] | Tensor) -> "Explanation":
        """The explanation of some inputs, by index, slice, list of indices or mask. No axis is dropped."""
        if isinstance(rows, tuple):
            raise TypeError("expected an index of inputs, explanation[i], got several. Take features from .values.")
        rows = row_indices(rows, len(self))
        chosen: dict[str, Any] = {name: tensor[rows] for name, tensor in self.tensors().items() if name in BY_ROW}
        chosen["baseline"] = self.baseline if self.background else self.baseline[rows]
        chosen["labels"] = self.labels.of_rows(rows, background=self.background)
        chosen["channels"] = None if self.channels is None else self.channels.rows(rows)
        chosen["support"] = None if self.support is None else self.support.rows(rows)
        return replace(self, **chosen, spread=None if self.spread is None else self.spread.rows(rows))

    def group(self, groups: Mapping[str, Sequence[str]]) -> "Explanation":
        """Attributions of groups of features, added up. Features in no group stay as they are.

        The stated error of a sum is the sum of the errors, an upper bound. The input value of a group of several
        features is NaN.

        Args:
            groups: the names of features by that of their group: {"hour": ["hour_sin", "hour_cos"]}.

        Raises:
            ValueError: if a feature does not exist or is in two groups, or the deviation of a sum is not known.

        Example:
            >>> explanation.group({"both": ["heat", "time"]}).feature_names
            ('both',)
        """
        return self.summed(group_columns(self.feature_names, groups))

    def summed(self, columns: Mapping[str, list[int]]) -> "Explanation":
        """Add up the attributions of groups that are given by the indices of their features."""
        return replace(
            self,
            labels=self.labels.single_members(columns),
            values=sum_groups(self.values, columns),
            error=if_known(sum_groups, self.error, columns),
            standard_error=if_known(sum_groups, self.standard_error, columns),
            background_std=if_known(single_members, self.background_std, columns),
            inputs=single_members(self.inputs, columns),
            baseline=single_members(self.baseline, columns),
            feature_names=tuple(columns),
            spread=None if self.spread is None else self.spread.group(list(columns.values())),
            support=None if self.support is None else self.support.group(columns),
            channels=None if self.channels is None else self.channels.group(columns),
        )

    def contrast(self, a: SupportsIndex | str, b: SupportsIndex | str) -> "Explanation":
        """Why output a rather than output b: the difference of their attributions, as a single output.

        Args:
            a, b: names or positions of outputs.

        Raises:
            ValueError: if there is one output only, or no such output.

        Example:
            >>> two = gplens.explain(gplens.Stack((gp, gp)), X[3:], baseline=0.0, target=gplens.targets.Latent())
            >>> two.contrast(0, 1).values.abs().max().item()
            0.0
        """
        if self.output_names is None:
            raise ValueError("expected an explanation of several outputs to contrast two of them, got one output.")
        i, j = (output_index(self.output_names, output) for output in (a, b))
        tensors = self.tensors()
        signs = {"values": -1, "prediction": -1, "baseline_prediction": -1, "gap": -1, "error": 1, "standard_error": 1}
        signed = [(name, sign) for name, sign in signs.items() if name in tensors]
        parts: dict[str, Any] = {name: tensors[name][:, i] + sign * tensors[name][:, j] for name, sign in signed}
        target = f"{self.provenance.target}, {self.output_names[i]} rather than {self.output_names[j]},"
        parts["spread"] = None if self.spread is None else self.spread.contrast(i, j)
        parts["support"] = None if self.support is None else self.support.contrast(i, j)
        parts["channels"] = None if self.channels is None else self.channels.contrast(i, j)
        parts["background_std"] = None  # the outputs are correlated, which their standard deviations do not show
        return replace(self, **parts, output_names=None, provenance=replace(self.provenance, target=target))

    def tensors(self) -> dict[str, Tensor]:
        """The fields that are tensors, by name, without those of the spread."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, Tensor)}

    @staticmethod
    def load(path: str | Path) -> "Explanation":
        """Read an explanation that `save` wrote; all numbers are the same, bit for bit.

        Args:
            path: the file.

        Raises:
            FileNotFoundError, ValueError: if there is no such file, or it is damaged or no explanation.

        Example:
            >>> from pathlib import Path
            >>> explanation.save(Path(saved) / "file.gplens")
            >>> len(gplens.Explanation.load(Path(saved) / "file.gplens"))
            2
        """
        from gplens.explanation.files import load

        return load(Path(path))
