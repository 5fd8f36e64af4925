"""The result: attributions, what they add up to, and how well they do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.explanation.text import describe
from gplens.uncertainty import statistics
from gplens.uncertainty.grouping import contrasted_spread, grouped_spread

if TYPE_CHECKING:
    import pandas
    import shap

BY_ROW = (
    "values",
    "prediction",
    "baseline_prediction",
    "gap",
    "error",
    "nodes",
    "converged",
    "inputs",
    "standard_error",
    "std",
    "std_error",
    "covariance",
    "draws",
)
"""The fields with one entry for each input."""


@final
@dataclass(frozen=True)
class Provenance:
    """How an explanation came about."""

    model: str
    likelihood: str | None
    target: str
    baseline: str
    rule: str
    tolerance: float
    gradients: str
    """'closed form', or 'autograd' where some kernel had none."""
    notes: tuple[str, ...]
    """What the adapter did and checked."""
    version: str
    """Of gplens."""


@final
@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Attributions of b predictions to d features; with an axis of outputs for a model that has several.

    For every input, and every output:  values.sum(-1) = prediction - baseline_prediction + gap  (4.4).
    """

    values: Float[Tensor, "b *c d"]
    """How much each feature moved the prediction away from the baseline's, in units of the prediction."""
    prediction: Float[Tensor, "b *c"]
    baseline_prediction: Float[Tensor, "b *c"]
    gap: Float[Tensor, "b *c"]
    """What the attributions add up to, less what they should."""
    error: Float[Tensor, "b *c d"] | None
    """Estimated quadrature error of every value; None for a rule that has no estimate."""
    nodes: Int[Tensor, " b"]
    """Points of the path at which the model was evaluated."""
    converged: Bool[Tensor, " b"] | None
    """Whether the tolerance was met; None for a rule that cannot tell."""
    inputs: Float[Tensor, "b d"]
    baseline: Float[Tensor, "s d"]
    """The starting point of each input, or the background over which the explanation is an average."""
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None
    """None for a model with a single output."""
    provenance: Provenance
    background: bool = False
    """Whether `baseline` is a background that all inputs share, rather than a row for each."""
    standard_error: Float[Tensor, "b *c d"] | None = None
    """Monte Carlo error of every value, where draws were unavoidable; else None."""
    std: Float[Tensor, "b *c d"] | None = None
    """Posterior standard deviation of every attribution: how sure the model is of it. None unless asked for."""
    std_error: Float[Tensor, "b *c d"] | None = None
    """Monte Carlo error of std, where it is not exact (softmax)."""
    covariance: Float[Tensor, "b *c d d"] | None = None
    """Posterior covariance of the attributions of an output. None unless asked for."""
    draws: Float[Tensor, "b draws *c d"] | None = None
    """Posterior draws of the attributions. None unless asked for."""
    joint_draws: bool = True
    """Whether the draws of an input belong together, rather than each attribution being drawn on its own."""
    gaussian: bool = False
    """Whether the attributions are exactly Gaussian: those of a latent function, or through the identity link."""

    def __len__(self) -> int:
        return self.values.shape[0]

    def __getitem__(self, rows: int | slice | Sequence[int] | Tensor) -> "Explanation":
        """The explanation of some of the inputs; all of the axes stay."""
        if isinstance(rows, tuple):
            raise TypeError("An explanation is indexed by inputs alone: explanation[i]. Take features from .values.")
        if isinstance(rows, int):
            rows = [range(len(self))[rows]]
        elif not isinstance(rows, slice):
            rows = torch.as_tensor(rows).reshape(-1)
            rows = rows if rows.numel() else rows.long()  # an empty list has no type of its own
        chosen = {name: None if (own := getattr(self, name)) is None else own[rows] for name in BY_ROW}
        baseline = self.baseline if self.background else self.baseline[rows]
        return replace(self, **chosen, baseline=baseline)

    def group(self, groups: Mapping[str, Sequence[str]]) -> "Explanation":
        """Attributions of groups of features, added up; features in no group stay as they are.

        `explanation.group({"hour": ["hour_sin", "hour_cos"]})`. The error of a sum is at most the sum of
        the errors, which is what is given.
        A group of several features has no input value of its own: it is NaN there.
        """
        columns = group_columns(self.feature_names, groups)
        return replace(
            self,
            **grouped_spread(self, list(columns.values())),
            values=_added(self.values, columns),
            error=None if self.error is None else _added(self.error, columns),
            standard_error=None if self.standard_error is None else _added(self.standard_error, columns),
            inputs=_single(self.inputs, columns),
            baseline=_single(self.baseline, columns),
            feature_names=tuple(columns),
        )

    def contrast(self, a: SupportsIndex | str, b: SupportsIndex | str) -> "Explanation":
        """Why output a rather than output b: the difference of their attributions, as a single output."""
        if self.output_names is None:
            raise ValueError("A contrast is between two outputs; this explanation has one.")
        i, j = (output_index(self.output_names, one) for one in (a, b))
        errors = {
            name: None if (own := getattr(self, name)) is None else own[:, i] + own[:, j]
            for name in ("error", "standard_error")
        }
        differences = ("values", "prediction", "baseline_prediction", "gap")
        both = {name: getattr(self, name)[:, i] - getattr(self, name)[:, j] for name in differences}
        both |= contrasted_spread(self, i, j)
        target = f"{self.provenance.target}, {self.output_names[i]} rather than {self.output_names[j]},"
        provenance = replace(self.provenance, target=target)
        return replace(self, **both, **errors, output_names=None, provenance=provenance)

    def interval(self, level: float = 0.9) -> tuple[Float[Tensor, "b *c d"], Float[Tensor, "b *c d"]]:
        """Lower and upper ends of the central posterior interval of every attribution."""
        return statistics.interval(self, level)

    def probability_positive(self) -> Float[Tensor, "b *c d"]:
        """The posterior probability that an attribution is above zero."""
        return statistics.probability_positive(self)

    def probability_larger(self, feature_a: str, feature_b: str) -> Float[Tensor, "b *c"]:
        """The posterior probability that the attribution of feature_a is larger in size than that of feature_b."""
        return statistics.probability_larger(self, feature_a, feature_b)

    def rank_probabilities(self) -> Float[Tensor, "b *c d d"]:
        """The posterior probability that feature k has the r-th largest attribution in size, at [..., k, r]."""
        return statistics.rank_probabilities(self)

    def to_frame(self) -> "pandas.DataFrame":
        """A row for each input, output and feature (needs pandas: `pip install gplens[pandas]`)."""
        from gplens.explanation.export import to_frame

        return to_frame(self)

    def to_shap(self, *, level: float = 0.9) -> "shap.Explanation":
        """For shap's plots (needs shap: `pip install gplens[shap]`): values, base values, data, names.

        With draws, or Gaussian error bars, also the bounds of the central interval of posterior probability `level`.
        """
        from gplens.explanation.export import to_shap

        return to_shap(self, level)

    def save(self, path: str | Path) -> None:
        """Write to one file (safetensors with a readable JSON header), atomically."""
        from gplens.explanation.files import save

        save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> "Explanation":
        """Read what `save` wrote, bit for bit."""
        from gplens.explanation.files import load

        return load(Path(path))

    def __repr__(self) -> str:
        return describe(self)


def output_index(names: tuple[str, ...], one: SupportsIndex | str) -> int:
    """The position of an output that is given by its number or its name."""
    numbered = {name: i for i, name in enumerate(names)}
    i = index(one) if isinstance(one, SupportsIndex) else numbered.get(one, -1)
    if not 0 <= i < len(names):
        raise ValueError(f"There is no output {one!r}; they are numbered from 0 and named {list(names)}.")
    return i


def tensors_of(explanation: Explanation) -> dict[str, Tensor]:
    """The fields that are tensors, by name."""
    named = {field.name: getattr(explanation, field.name) for field in fields(explanation)}
    return {name: value for name, value in named.items() if isinstance(value, Tensor)}


def group_columns(names: tuple[str, ...], groups: Any) -> dict[str, list[int]]:
    """The columns of each new feature: a group stands where its first feature stood."""
    if not isinstance(groups, Mapping):
        raise TypeError(f'groups is {groups!r}; wanted were names of features by group: {{"hour": ["sin", "cos"]}}.')
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        if len(members) == 0:
            raise ValueError(f"Group {group!r} has no features; name at least one of {list(names)}.")
        for member in [members] if isinstance(members, str) else members:
            if member not in names:
                raise ValueError(f"Group {group!r} names the feature {member!r}, which is not among {list(names)}.")
            if member in group_of:
                raise ValueError(
                    f"Feature {member!r} is in the groups {group_of[member]!r} and {group!r}; one is wanted."
                )
            group_of[member] = group
    columns: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        key = group_of.get(name, name)
        if key == name and name not in group_of and name in groups:
            raise ValueError(f"Group {name!r} has the name of a feature that is not in it; choose another name.")
        columns.setdefault(key, []).append(i)
    return columns


def _added(values: Float[Tensor, "*b d"], columns: Mapping[str, list[int]]) -> Float[Tensor, "*b g"]:
    return torch.stack([values[..., own].sum(-1) for own in columns.values()], dim=-1)


def _single(inputs: Float[Tensor, "b d"], columns: Mapping[str, list[int]]) -> Float[Tensor, "b g"]:
    several = inputs.new_full(inputs.shape[:1], torch.nan)
    return torch.stack([inputs[:, own[0]] if len(own) == 1 else several for own in columns.values()], dim=-1)
