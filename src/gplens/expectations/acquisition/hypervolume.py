"""The expected improvement of the hypervolume that a Pareto front dominates (MATH 11.7)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.acquisition.criterion import Criterion, Outcomes, Partials
from gplens.expectations.normal import cdf, density


@final
@dataclass(frozen=True, eq=False)
class HypervolumeImprovement(Criterion):
    """psi = sum_c prod_i e_ci,  e_ci = E min(max(f_i - lower_ci, 0), upper_ci - lower_ci)  (11.7).

    The cells c between `lower` and `upper` cover what the Pareto front does not dominate.
    """

    lower: Float[Tensor, "cells o"]
    upper: Float[Tensor, "cells o"]
    """Infinite for cells without an end."""

    @property
    def samples(self) -> int:
        return 8 * self.lower.numel()

    def partials(self, m: Outcomes, v: Outcomes) -> Partials:
        factors = [self._factor(i, m[i], v[i]) for i in range(len(m))]
        values = torch.stack([value for value, _, _ in factors])
        others = [torch.cat([values[:i], values[i + 1 :]]).prod(0) for i in range(len(m))]
        by_m = torch.stack([(others[i] * factor[1]).sum(0) for i, factor in enumerate(factors)])
        by_v = torch.stack([(others[i] * factor[2]).sum(0) for i, factor in enumerate(factors)])
        return Partials(values.prod(0).sum(0), by_m, by_v)

    def _factor(
        self, i: int, m: Float[Tensor, "*n"], v: Float[Tensor, "*n"]
    ) -> tuple[Float[Tensor, "cells *n"], Float[Tensor, "cells *n"], Float[Tensor, "cells *n"]]:
        """e = EI(lower) - EI(upper), with its derivatives by m and v."""
        sd, axes = v.sqrt(), (-1, *(1,) * m.ndim)
        at_lower, at_upper = (self._excess(bound[:, i].reshape(axes), m, sd) for bound in (self.lower, self.upper))
        value, by_m, by_v = (low - up for low, up in zip(at_lower, at_upper, strict=True))
        return value, by_m, by_v / (2 * sd)  # (11.7)

    @staticmethod
    def _excess(bound: Tensor, m: Float[Tensor, "*n"], sd: Float[Tensor, "*n"]) -> tuple[Tensor, Tensor, Tensor]:
        """E max(f - bound, 0), Phi(u) and phi(u) with u = (m - bound)/sd; zero at an infinite bound."""
        u = torch.where(bound.isinf(), -40.0, (m - bound) / sd)
        Phi, phi = cdf(u), density(u)
        return torch.where(bound.isinf(), 0.0, sd * (phi + u * Phi)), Phi, phi
