"""TransformedTargetRegressor: its prediction is the inverse transform of the predicted mean (MATH 2.17)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from torch import Tensor

from gplens.adapters.sklearn.compositions import active
from gplens.adapters.sklearn.function_transformer import by_complex_step, elementwise
from gplens.adapters.sklearn.plans import tensor
from gplens.expectations.expectation import Expectation, ExpectedLink, Jet
from gplens.expectations.variances import LatentVariance
from gplens.likelihood import Likelihood
from gplens.links import Affine
from gplens.processes.process import Marginals, Process
from gplens.processes.smooth_map import SmoothMap
from gplens.processes.transformed import AffineMap


@final
@dataclass(frozen=True)
class Inverted(Expectation):
    """T = h(psi): a function of the prediction of a model, not of its latent values  (2.17)."""

    inner: Expectation
    """psi."""
    inverse: SmoothMap
    """h of each output."""
    name: str

    def __repr__(self) -> str:
        return f"the inverse {self.name} of {self.inner!r}"

    def count(self, latents: int) -> int:
        return self.inner.count(latents)

    def names(self, latents: int) -> tuple[str, ...]:
        return self.inner.names(latents)

    def within(self, tolerance: float) -> "Inverted":
        return replace(self, inner=self.inner.within(tolerance))

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"] | None:
        return self.inner.resolution(marginals)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """psi' = h'(psi) psi_m and h'(psi) psi_v."""
        psi = self.inner.jet(marginals, outputs)
        value, slope = self._at(psi.value, outputs)
        by_v = None if psi.by_v is None else slope[:, :, None] * psi.by_v
        return Jet(value, slope[:, :, None] * psi.by_m, by_v)

    def _at(self, psi: Float[Tensor, "b o q"], outputs: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        b, _, q = psi.shape
        given = psi.new_full((b * q, self.inverse.inputs), 0.5)
        given[:, list(outputs)] = psi.mT.flatten(0, 1)
        jet = self.inverse.at(given)
        slopes = jet.back(torch.ones_like(given)[:, None])[:, 0]
        chosen = (part[:, list(outputs)].unflatten(0, (b, q)).mT for part in (jet.values, slopes))
        value, slope = chosen
        return value, slope


def undone(likelihood: Likelihood, transformers: Sequence[Any], process: Process) -> tuple[Likelihood, SmoothMap]:
    """The likelihood of the original target, and the inverse of its transformers, the last of which is undone first."""
    outputs = likelihood.response.count(process.latents)
    inverse = SmoothMap.columns(outputs)
    for transformer in reversed(transformers):
        inverse = inverse.then(inverse_of(transformer, outputs))
    names = " of ".join(type(transformer).__name__ for transformer in transformers)
    if inverse.affine is None:
        response = Inverted(likelihood.response, inverse, names)
        kept = replace(likelihood, response=response, variance=None, exceeds=None, epistemic=None)
        return replace(kept, name=f"the inverse {names} of {likelihood.name}"), inverse
    return _rescaled(likelihood, inverse, names), inverse


def _rescaled(likelihood: Likelihood, inverse: SmoothMap, names: str) -> Likelihood:
    """y = scale f + shift for each output; variances are scaled too."""
    assert inverse.affine is not None
    scale, shift = inverse.affine.W.diagonal(), inverse(torch.zeros(1, inverse.inputs, dtype=torch.float64))[0]
    squared = SmoothMap.of(AffineMap.shifted(scale**2, 0 * scale))
    response, variance = likelihood.response, likelihood.total_variance()
    if isinstance(response, ExpectedLink):
        inner = response.links if len(response.links) > 1 else response.links * len(scale)
        pairs = zip(inner, scale.tolist(), shift.tolist(), strict=True)
        response = ExpectedLink(tuple(Affine(link, a, b) for link, a, b in pairs))
    else:
        response = Inverted(response, inverse, names)
    return replace(
        likelihood,
        response=response,
        variance=None if variance is None else Inverted(variance, squared, names),
        exceeds=_exceeds(likelihood, scale, shift),
        epistemic=Inverted(likelihood.epistemic or LatentVariance(), squared, names),
    )


def _exceeds(
    likelihood: Likelihood, scale: Float[Tensor, " c"], shift: Float[Tensor, " c"]
) -> Callable[[float], Expectation] | None:
    """P(y > t) = P(f > (t - shift)/scale) of a single output."""
    exceeds, a, b = likelihood.exceeds, float(scale[0]), float(shift[0])
    return None if exceeds is None or len(scale) > 1 or a <= 0 else lambda t: exceeds((t - b) / a)


@singledispatch
def inverse_of(transformer: Any, outputs: int) -> SmoothMap:
    """The inverse of a fitted transformer of the target, output by output; an error for one that is not known."""
    raise ValueError(
        "expected a TransformedTargetRegressor with a scaler, a PowerTransformer, or func= and inverse_func=, got "
        f"{type(transformer).__name__}, whose inverse has no derivative that gplens knows; explain the prediction "
        "before it: gplens.explain(model.regressor_, X, ...)."
    )


@inverse_of.register
def _(transformer: StandardScaler | RobustScaler | MaxAbsScaler, outputs: int) -> SmoothMap:
    centre = getattr(transformer, "mean_", getattr(transformer, "center_", None))
    centred = getattr(transformer, "with_mean", getattr(transformer, "with_centering", False))
    ones = torch.ones(outputs, dtype=torch.float64)
    scale = ones if transformer.scale_ is None else tensor(transformer.scale_)
    return SmoothMap.of(AffineMap.shifted(scale, tensor(centre) if centred else 0 * ones))


@inverse_of.register
def _(transformer: MinMaxScaler, outputs: int) -> SmoothMap:
    return SmoothMap.of(AffineMap.scaled(tensor(transformer.scale_), tensor(transformer.min_)))


@inverse_of.register
def _(transformer: FunctionTransformer, outputs: int) -> SmoothMap:
    function = transformer.inverse_func
    if function is None:
        return SmoothMap.columns(outputs)
    formula = None if transformer.inv_kw_args else elementwise(function, outputs)
    single = by_complex_step(lambda x: function(x, **(transformer.inv_kw_args or {})), 1) if formula is None else None
    if formula is None and single is None:
        return inverse_of.dispatch(object)(transformer, outputs)
    if formula is not None:
        return formula
    assert single is not None
    return SmoothMap.side_by_side(outputs, outputs, [((k,), (k,), single) for k in range(outputs)])


@inverse_of.register
def _(transformer: PowerTransformer, outputs: int) -> SmoothMap:
    """(l z + 1)^(1/l) of Box-Cox, less one for Yeo-Johnson, which mirrors the other half."""
    power, positive = tensor(transformer.lambdas_), transformer.method == "box-cox"

    def function(z: Float[Tensor, "k c"]) -> tuple[Float[Tensor, "k c"], Float[Tensor, "k c"]]:
        if positive:
            return _root(z, power)
        value, slope = _root(z.clamp(min=0), power)
        mirrored, mirrored_slope = _root(-z.clamp(max=0), 2 - power)
        return torch.where(z >= 0, value - 1, 1 - mirrored), torch.where(z >= 0, slope, mirrored_slope)

    bent = SmoothMap.elementwise(outputs, function)
    return inverse_of(transformer._scaler, outputs).then(bent) if transformer.standardize else bent


def _root(z: Float[Tensor, "k c"], power: Float[Tensor, " c"]) -> tuple[Float[Tensor, "k c"], Float[Tensor, "k c"]]:
    """exp(log1p(l z) / l) and its derivative, its power 1 - l; exp(z) for l = 0."""
    divisor = torch.where(power.abs() < np.spacing(1.0), 1.0, power)
    value = torch.where(power.abs() < np.spacing(1.0), z, torch.log1p(power * z) / divisor).exp()
    return value, value ** (1 - power)


@inverse_of.register
def _(transformer: Pipeline, outputs: int) -> SmoothMap:
    inverse = SmoothMap.columns(outputs)
    for step in reversed(active(transformer.steps)):
        inverse = inverse.then(inverse_of(step, outputs))
    return inverse
