"""What the data contribute to stationary posteriors at the nodes of a line, and derivatives there (MATH 4.18a)."""

from typing import TYPE_CHECKING, NamedTuple

from jaxtyping import Float, Int
from torch import Tensor

if TYPE_CHECKING:
    from gplens.processes.radial_posteriors import RadialMarginals


class Fitted(NamedTuple):
    """What the data contribute at the nodes of a line."""

    by_slope: Float[Tensor, "c b q n"]
    """dk/dr2 A k, up to the constant of the kernel."""
    sums: Float[Tensor, "c b q"]
    """The same, summed over the support points."""
    form: Float[Tensor, "c b q"]
    """k'Ak."""


def slopes_in_directions(
    marginals: "RadialMarginals", V: Float[Tensor, "b s k"], columns: Int[Tensor, " k"] | slice, *, variances: bool
) -> tuple[Float[Tensor, "b c q s"], Float[Tensor, "b c q s"] | None]:
    """d_V k = 2 h' (x0 + t d - z) V / l^2: products over features are taken once for all nodes  (4.18a)."""
    them, (_, slope, factor) = marginals.posteriors, marginals.jet
    Z_V = (V.flatten(0, 1) @ them.R[columns]).view(*V.shape[:2], *them.norm2.shape).permute(2, 0, 1, 3).contiguous()
    starts, moves = (
        ((V * y[:, None, columns]) @ them.rho[:, columns].mT).permute(2, 0, 1)[:, :, None]
        for y in (marginals.u, marginals.line.d)
    )
    x_V = starts + marginals.line.t[:, :, None] * moves

    def at_nodes(sums: Float[Tensor, "c b q"], values: Tensor, Z_V: Float[Tensor, "c b s n"]) -> Tensor:
        return (sums[..., None] * x_V - values @ Z_V.mT).transpose(0, 1)

    by_m = at_nodes(marginals.slope_by_beta, slope, Z_V * them.beta[:, None, None]).mul_(2 * factor)
    if not variances:
        return by_m, None
    return by_m, at_nodes(marginals.fitted.sums, marginals.fitted.by_slope, Z_V).mul_(-4 * factor)
