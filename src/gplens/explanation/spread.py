"""The posterior distribution of attributions: deviations, covariances, draws, intervals, probabilities (MATH 5)."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.adapters.numbers import as_float
from gplens.explanation.sizes import probability_larger, rank_probabilities, rank_shares
from gplens.lines.units import power_of_two, quotient

Values = Float[Tensor, "b *c d"]
ASK_FOR_DRAWS = "Pass explain(uncertainty=gplens.Samples(1000, seed=0)); True has draws for up to five background rows."


@final
@dataclass(frozen=True, eq=False)
class Spread:
    """The posterior distribution of the attributions.

    Example:
        >>> spread = explanation.spread
        >>> spread.std.shape, bool(spread.converged.all())
        (torch.Size([2, 2]), True)
    """

    std: Float[Tensor, "b *c d"] | None
    """Posterior standard deviation of every attribution; None for a contrast whose deviation is not known."""
    std_error: Float[Tensor, "b *c d"] | None = None
    """Monte Carlo error of std; None if std is exact."""
    error: Float[Tensor, "b *c d"] | None = None
    """Estimated quadrature error of std; None if there is no estimate."""
    covariance: Float[Tensor, "b *c d d"] | None = None
    """Posterior covariance of the attributions of an output; None unless requested. With draws, also None if float64
    cannot hold the squares of the deviations."""
    draws: Float[Tensor, "b draws *c d"] | None = None
    """Posterior draws of the attributions; None unless requested."""
    joint_draws: bool = True
    """Whether the attributions of a draw are drawn jointly, rather than each on its own."""
    across_rows: bool = False
    """Whether draws are joint over inputs: draw s of every input is of the same posterior function."""
    gaussian: bool = False
    """Whether the attributions are exactly Gaussian, as for a latent function or an identity link."""
    converged: Bool[Tensor, " b"] | None = None
    """Whether deviations and covariances met their tolerance, apart from their Monte Carlo error. For the values, see
    `Explanation.converged`."""

    @property
    def has_interval(self) -> bool:
        """Whether `interval` can be computed."""
        return self.draws is not None or (self.gaussian and self.std is not None)

    def tensors(self) -> dict[str, Tensor]:
        """The fields that are tensors, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in named.items() if isinstance(value, Tensor)}

    def rows(self, index: Any) -> "Spread":
        """The spread of some of the inputs."""
        return replace(self, **{name: tensor[index] for name, tensor in self.tensors().items()})

    def squeezed(self) -> "Spread":
        """The spread without the axis of outputs, if there is only one output."""
        axes = {name: 2 if name == "draws" else 1 for name in self.tensors() if name != "converged"}
        return replace(self, **{name: self.tensors()[name].squeeze(axis) for name, axis in axes.items()})

    def group(self, columns: Sequence[list[int]]) -> "Spread":
        """The spread of sums over groups of features, from covariances or joint draws; deviations do not add up."""
        if self.std is None and self.draws is None:
            return self
        if all(len(group) == 1 for group in columns):
            order = [group[0] for group in columns]
            by_feature = {"std": self.std, "std_error": self.std_error, "error": self.error}
            chosen = {name: None if part is None else part[..., order] for name, part in by_feature.items()}
            return replace(self, **chosen, **self._summed(columns))
        if self.covariance is None and (self.draws is None or not self.joint_draws):
            raise ValueError(
                "expected covariances or joint draws for the standard deviation of a group of features, got neither. "
                "Pass explain(uncertainty=gplens.Full()), or name the groups in explain(groups=...)."
            )
        summed = self._summed(columns)
        if summed["covariance"] is None:
            return replace(self, error=None, **summed, **_deviations(summed["draws"]))
        std = summed["covariance"].diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt()  # below zero is rounding
        return replace(self, **summed, std=std, std_error=None, error=self._error_of_groups(columns, std))

    def _error_of_groups(self, columns: Sequence[list[int]], std: Values) -> Values | None:
        """Errors of summed deviations: an error e_k of each s_k changes Cov(k, l) by at most e_k s_l + e_l s_k."""
        if self.error is None or self.std is None:
            return None
        parts = [(self.error[..., group].sum(-1), self.std[..., group].sum(-1)) for group in columns]
        unit = power_of_two(std.amax(-1))
        changes = torch.stack([(e / unit) * (s / unit) for e, s in parts], -1)
        scaled = std / unit[..., None]
        return unit[..., None] * quotient(changes, torch.maximum(scaled, changes.sqrt()))

    def _summed(self, columns: Sequence[list[int]]) -> dict[str, Any]:
        """Covariances and draws of sums over groups of features."""
        any_tensor = self.draws if self.std is None else self.std
        assert any_tensor is not None
        add = torch.zeros(any_tensor.shape[-1], len(columns), dtype=any_tensor.dtype)
        for i, group in enumerate(columns):
            add[group, i] = 1.0
        covariance = None if self.covariance is None else add.T @ self.covariance @ add
        return {"covariance": covariance, "draws": None if self.draws is None else self.draws @ add}

    def contrast(self, i: int, j: int) -> "Spread | None":
        """The spread of output i minus output j, from joint draws; None without them."""
        if self.draws is None or not self.joint_draws:
            return None
        draws = self.draws[:, :, i] - self.draws[:, :, j]
        return replace(self, error=None, covariance=None, draws=draws, gaussian=False, **_deviations(draws))

    def interval(self, values: Values, level: float) -> tuple[Values, Values]:
        """The central interval of posterior probability `level`, from quantiles of draws or of an exact Gaussian."""
        probability = as_float(level)
        if probability is None or not 0 < probability < 1:
            raise ValueError(f"expected a level between 0 and 1, such as 0.9, got {level!r}.")
        tail = (1 - probability) / 2
        if self.draws is not None and not self.gaussian:
            return _quantile(self.draws, tail), _quantile(self.draws, 1 - tail)
        std = self._gaussian_std("an interval")
        half_width = std * torch.special.ndtri(torch.tensor(1 - tail, dtype=std.dtype))
        return values - half_width, values + half_width

    def probability_positive(self, values: Values) -> Values:
        """P(IG_k > 0)."""
        if self.draws is not None and not self.gaussian:
            return (self.draws > 0).to(self.draws.dtype).mean(1)
        std = self._gaussian_std("the probability of a sign")
        return torch.where(std > 0, torch.special.ndtr(values / std), (values > 0).to(std.dtype))

    def probability_larger(self, values: Values, a: int, b: int) -> Float[Tensor, "b *c"]:
        """P(|IG_a| > |IG_b|): counted in joint draws, or exact for a joint Gaussian  (5.23)."""
        if self.covariance is not None and self.gaussian:
            return probability_larger(values[..., [a, b]], self.covariance[..., [a, b], :][..., [a, b]])
        sizes = self._joint_draws("a comparison of two attributions").abs()
        return (sizes[..., a] > sizes[..., b]).to(sizes.dtype).mean(1)

    def rank_probabilities(self, values: Values) -> tuple[Float[Tensor, "b *c d d"], float]:
        """P(feature k has the r-th largest |IG|), at [..., k, r], and the largest standard error."""
        if self.covariance is not None and self.gaussian:
            return rank_probabilities(values, self.covariance)
        draws = self._joint_draws("a ranking")
        sizes = draws.abs().movedim(1, -2)
        shares = rank_shares(sizes.flatten(0, -3)).unflatten(0, sizes.shape[:-2])
        variance = float((shares * (1 - shares)).max()) if shares.numel() else 0.0
        return shares, (variance / draws.shape[1]) ** 0.5

    def _gaussian_std(self, what: str) -> Values:
        if self.std is None or not self.gaussian:
            raise ValueError(
                f"expected draws for {what}, because attributions through a link are not Gaussian, got none. "
                + ASK_FOR_DRAWS
            )
        return self.std

    def _joint_draws(self, what: str) -> Float[Tensor, "b draws *c d"]:
        if self.draws is None or not self.joint_draws:
            raise ValueError(
                f"expected joint draws of the attributions for {what}, got none. {ASK_FOR_DRAWS} The covariance that "
                "gplens.Full() computes is enough where attributions are Gaussian, which "
                f"{'these are' if self.gaussian else 'those through a link are not'}."
            )
        return self.draws


def _deviations(draws: Float[Tensor, "b draws *c d"]) -> dict[str, Any]:
    """The standard deviation of draws, and its Monte Carlo error from their fourth moment."""
    unit, n = power_of_two(draws.abs().amax(1)), draws.shape[1]  # fourth powers of small numbers vanish
    scaled = draws / unit[:, None]
    std, fourth = scaled.std(1), ((scaled - scaled.mean(1, keepdim=True)) ** 4).mean(1)
    error = ((fourth - std**4).clamp(min=0) / n).sqrt() / (2 * std)
    return {"std": unit * std, "std_error": unit * torch.where(std > 0, error, 0.0)}


def _quantile(draws: Float[Tensor, "b draws *c d"], level: float) -> Values:
    """Input by input, because torch.quantile takes no more than 2^24 numbers."""
    return torch.stack([torch.quantile(row, level, dim=0) for row in draws])
