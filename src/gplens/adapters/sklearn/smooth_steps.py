"""Transformers that bend a straight line, with exact derivatives: powers, products, norms."""

import torch
from jaxtyping import Float
from sklearn.preprocessing import Normalizer, PolynomialFeatures, PowerTransformer
from torch import Tensor

from gplens.adapters.sklearn.plans import StepPlan, plan_of, tensor
from gplens.processes.crossings import Levels
from gplens.processes.smooth_map import MapJet, SmoothMap


@plan_of.register
def _(step: PowerTransformer, features: int) -> StepPlan:
    """Box-Cox (x^l - 1)/l, or Yeo-Johnson, which joins two of these at zero; then standardised."""
    power, positive = tensor(step.lambdas_), step.method == "box-cox"

    def function(x: Float[Tensor, "k d"]) -> tuple[Float[Tensor, "k d"], Float[Tensor, "k d"]]:
        if positive:
            return _box_cox(x, power)
        value, slope = _box_cox(1 + x.clamp(min=0), power)
        mirrored, mirrored_slope = _box_cox(1 - x.clamp(max=0), 2 - power)
        return torch.where(x >= 0, value, -mirrored), torch.where(x >= 0, slope, mirrored_slope)

    zero = (torch.zeros(1, dtype=torch.float64),) * features
    bent = StepPlan.smooth(SmoothMap.elementwise(features, function, None if positive else Levels(lambda x: x, zero)))
    if not step.standardize:
        return bent
    return bent.then(plan_of(step._scaler, features), step.transform, "StandardScaler")


def _box_cox(x: Float[Tensor, "k d"], power: Float[Tensor, " d"]) -> tuple[Float[Tensor, "k d"], Float[Tensor, "k d"]]:
    """(x^l - 1)/l = expm1(l log x)/l and x^(l - 1); log x for l = 0; NaN for x <= 0, where it is not defined."""
    logarithm = torch.where(x > 0, x, torch.nan).log()
    divisor = torch.where(power == 0, 1.0, power)
    value = torch.where(power == 0, logarithm, torch.expm1(power * logarithm) / divisor)
    return value, torch.exp((power - 1) * logarithm)


@plan_of.register
def _(step: PolynomialFeatures, features: int) -> StepPlan:
    """x'_j = prod_k x_k^p_jk."""
    powers = tensor(step.powers_)

    def at(x: Float[Tensor, "k d"]) -> MapJet:
        factors = x[:, None] ** powers

        def back(G: Float[Tensor, "k p e"]) -> Float[Tensor, "k p d"]:
            columns = []
            for i in range(features):
                others = factors.clone()
                others[:, :, i] = powers[:, i] * x[:, None, i] ** (powers[:, i] - 1).clamp(min=0)
                columns.append((G * others.prod(2)[:, None]).sum(2))
            return torch.stack(columns, dim=2)

        return MapJet(factors.prod(2), back)

    return StepPlan.smooth(SmoothMap(at, (powers > 0).T))


@plan_of.register
def _(step: Normalizer, features: int) -> StepPlan:
    """x / |x|, row by row, in the norm l2, l1 or max."""
    norm, zero = step.norm, torch.zeros(1, dtype=torch.float64)

    def at(x: Float[Tensor, "k d"]) -> MapJet:
        if norm == "max":
            size, index = x.abs().max(1, keepdim=True)
            slope = torch.zeros_like(x).scatter(1, index, x.gather(1, index).sign())
        else:
            size = torch.linalg.vector_norm(x, ord=1 if norm == "l1" else 2, dim=1, keepdim=True)
            slope = x.sign() if norm == "l1" else x / size
        if bool((size == 0).any()):
            raise ValueError(
                "expected rows that are not zero on the path through a Normalizer, which jumps there, got a row of "
                "zeros; choose a baseline that is not zero in all columns, and not opposite to an input."
            )
        values = x / size
        return MapJet(
            values, lambda G: (G - (G * values[:, None]).sum(2, keepdim=True) * slope[:, None]) / size[:, None]
        )

    levels = None
    if norm == "l1":
        levels = Levels(lambda x: x, (zero,) * features)
    elif norm == "max":
        i, j = torch.triu_indices(features, features, offset=1)
        levels = Levels(lambda x: x[:, i].abs() - x[:, j].abs(), (zero,) * len(i))
    return StepPlan.smooth(SmoothMap(at, torch.ones(features, features, dtype=torch.bool), levels))
