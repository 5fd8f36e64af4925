"""Classes from one binary classifier each, normalised to add up to one (MATH 2.14)."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.expectation import Expectation, Jet
from gplens.expectations.link import Link
from gplens.processes.process import Marginals


@final
@dataclass(frozen=True)
class OneVsRest(Expectation):
    """psi_c = p_c / sum_j p_j,  p_j = E g(f_j): the probabilities of one-versus-rest classifiers  (2.14).

    The normalisation comes after the expectation. psi is therefore not the expectation of a function of the latent
    values, and its attributions have no posterior distribution.

    Raises:
        ValueError: if the link has no exact moments.

    Example:
        >>> gplens.links.OneVsRest(gplens.links.Probit(), classes=("a", "b", "c")).classes
        ('a', 'b', 'c')
    """

    link: Link
    """g, the same for all classes."""
    classes: tuple[str, ...] | None = None
    """Names of the classes, one for each latent function."""

    def __post_init__(self) -> None:
        if not self.link.exact:
            raise ValueError(f"OneVsRest: expected a link with exact moments, got {self.link!r}.")

    def count(self, latents: int) -> int:
        if latents < 2 or (self.classes is not None and len(self.classes) != latents):
            got = f"{latents} latent functions" + (f" and the classes {self.classes}" if self.classes else "")
            raise ValueError(f"OneVsRest: expected one latent function for each of two or more classes, got {got}.")
        return latents

    def names(self, latents: int) -> tuple[str, ...]:
        return tuple(self.classes[i] if self.classes else f"class {i}" for i in range(self.count(latents)))

    def resolution(self, marginals: Marginals) -> Float[Tensor, "b c q"]:
        """A quotient of small probabilities changes faster than each of them, whose logarithms change like (m/sd)^2."""
        sd = torch.sqrt(1 + marginals.v)
        return sd / (1 + marginals.m.abs() / sd)

    def jet(self, marginals: Marginals, outputs: tuple[int, ...]) -> Jet:
        """d psi_c/dp_j = (delta_cj - psi_c)/sum, times the moments of the link  (2.14)."""
        m, v = marginals.m, marginals.v
        p, slope, curvature = self.link.moments(m, v)
        total = p.sum(1, keepdim=True)
        value = (p / total)[:, list(outputs)]
        chosen = torch.eye(m.shape[1], dtype=m.dtype)[list(outputs), :, None]
        by_p = (chosen - value[:, :, None]) / total[:, None]
        return Jet(value, by_p * slope[:, None], by_p * curvature[:, None] / 2)  # (2.14)
