"""How far the data determine the model along the paths of an explanation."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, final

from jaxtyping import Float, Int
from torch import Tensor

from gplens.explanation.selection import sum_groups
from gplens.lines.units import quotient


class SupportWarning(UserWarning):
    """The model is mostly its prior somewhere between a baseline and an input.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     far = gplens.explain(gp, X[:1], baseline=50.0, likelihood=gplens.links.Identity())
        >>> [warning.category.__name__ for warning in caught]
        ['SupportWarning']
    """


@final
@dataclass(frozen=True, eq=False)
class Support:
    """1 - v/k along each path (1.15): 1 where the data determine the latent function, 0 where only the prior does.

    The smallest value of several latent functions; for a background, the average over its rows.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=0.0, likelihood=gplens.links.Identity(), support=True)
        >>> e.support.along.shape
        torch.Size([1, 33])
        >>> round(float(e.support.minimum[0]), 2)
        0.99
    """

    along: Float[Tensor, "b p"]
    """The support at evenly spaced points of each path, from the baseline (t = 0) to the input (t = 1)."""
    prior_part: Float[Tensor, "b *c d"] | None = None
    """The part of each attribution from the places where the support is below 1/2 (4.13), in units of the prediction;
    None if unknown."""
    data_part: Float[Tensor, "b *c d"] | None = None
    """The remaining part of each attribution, from the places where the support is at least 1/2."""
    distance: Float[Tensor, " b"] | None = None
    """The distance of the baseline to the nearest support point, in lengthscales (1.16); None if unknown."""
    baseline_std: Float[Tensor, "b *c"] | None = None
    """The posterior standard deviation of the prediction at the baseline; None if unknown."""

    def __len__(self) -> int:
        return len(self.along)

    @property
    def minimum(self) -> Float[Tensor, " b"]:
        """The smallest support on each path."""
        return self.along.amin(1)

    @property
    def place(self) -> Float[Tensor, " b"]:
        """The place t of the smallest support, from 0 (baseline) to 1 (input)."""
        return self.along.argmin(1).to(self.along.dtype) / (self.along.shape[1] - 1)

    @property
    def prior_share(self) -> Float[Tensor, "b *c d"] | None:
        """|prior part| / (|prior part| + |data part|) of each attribution, from 0 to 1  (4.14)."""
        if self.prior_part is None or self.data_part is None:
            return None
        return quotient(self.prior_part.abs(), self.prior_part.abs() + self.data_part.abs())

    @property
    def total_prior_share(self) -> Float[Tensor, "b *c"] | None:
        """The share of the prior part in all attributions of an input: (4.14) with sizes summed over the features."""
        if self.prior_part is None or self.data_part is None:
            return None
        prior = self.prior_part.abs().sum(-1)
        return quotient(prior, prior + self.data_part.abs().sum(-1))

    def squeezed(self) -> "Support":
        """The support without the axis of outputs, if there is only one output."""
        by_output = {name: getattr(self, name) for name in ("prior_part", "data_part", "baseline_std")}
        return replace(self, **{name: None if part is None else part[:, 0] for name, part in by_output.items()})

    def tensors(self) -> dict[str, Tensor]:
        """The fields that are not None, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: tensor for name, tensor in named.items() if tensor is not None}

    def rows(self, rows: Int[Tensor, " r"]) -> "Support":
        """The support of some of the inputs."""
        chosen: dict[str, Any] = {name: tensor[rows] for name, tensor in self.tensors().items()}
        return replace(self, **chosen)

    def group(self, columns: Mapping[str, list[int]]) -> "Support":
        """The support, with the parts of attributions added up over groups of features."""
        if self.prior_part is None or self.data_part is None:
            return self
        prior, data = (sum_groups(part, columns) for part in (self.prior_part, self.data_part))
        return replace(self, prior_part=prior, data_part=data)

    def contrast(self, i: int, j: int) -> "Support":
        """The support of output i minus output j. The standard deviation of the difference is not known."""
        if self.prior_part is None or self.data_part is None:
            return replace(self, baseline_std=None)
        prior, data = (part[:, i] - part[:, j] for part in (self.prior_part, self.data_part))
        return replace(self, prior_part=prior, data_part=data, baseline_std=None)

    def describe(self) -> str:
        """One line: the smallest support and its place, the prior's share, the distance from baseline to data."""
        row, most = int(self.minimum.argmin()), "at most " if len(self) > 1 else ""
        of_input = f" of input {row}" if len(self) > 1 else ""
        parts = [f"least support {float(self.minimum[row]):.2f} at t = {float(self.place[row]):.2f}{of_input}"]
        if (shares := self.total_prior_share) is not None:
            parts.append(f"{most}{100 * float(shares.max()):.0f} % of the attributions from where it is below 1/2")
        if self.distance is not None:
            parts.append(f"baseline {most}{float(self.distance.max()):.2g} lengthscales from the data")
        return ", ".join(parts)
