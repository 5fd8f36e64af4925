"""What the posterior distribution of attributions says: intervals, signs, order."""

from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from gplens.explanation import Explanation

Values = Float[Tensor, "b *c d"]


def interval(e: "Explanation", level: float) -> tuple[Values, Values]:
    """The central interval of posterior probability `level`: quantiles of the draws, or of a Gaussian that is one."""
    if not 0 < level < 1:
        raise ValueError(f"level={level}: a probability between 0 and 1 was wanted, such as 0.9.")
    tail = (1 - level) / 2
    if e.draws is not None and not e.gaussian:
        return _quantile(e.draws, tail), _quantile(e.draws, 1 - tail)
    std = _gaussian(e, "An interval")
    reach = std * torch.special.ndtri(torch.tensor(1 - tail, dtype=std.dtype))
    return e.values - reach, e.values + reach


def probability_positive(e: "Explanation") -> Values:
    """P(IG_k > 0)."""
    if e.draws is not None and not e.gaussian:
        return (e.draws > 0).to(e.draws.dtype).mean(1)
    std = _gaussian(e, "The probability of a sign")
    return torch.where(std > 0, torch.special.ndtr(e.values / std), (e.values > 0).to(std.dtype))


def probability_larger(e: "Explanation", a: str, b: str) -> Float[Tensor, "b *c"]:
    """P(|IG_a| > |IG_b|)."""
    sizes = _joint(e, "Which of two attributions is larger").abs()
    i, j = (_feature(e, name) for name in (a, b))
    return (sizes[..., i] > sizes[..., j]).to(sizes.dtype).mean(1)


def rank_probabilities(e: "Explanation") -> Float[Tensor, "b *c d d"]:
    """P(feature k has the r-th largest |IG|), at [..., k, r]."""
    draws = _joint(e, "A ranking")
    ranks = draws.abs().argsort(dim=-1, descending=True).argsort(dim=-1)
    return torch.nn.functional.one_hot(ranks, draws.shape[-1]).to(draws.dtype).mean(1)


def _quantile(draws: Float[Tensor, "b draws *c d"], level: float) -> Values:
    """Input by input: torch takes no more than 2^24 numbers at a time."""
    return torch.stack([torch.quantile(own, level, dim=0) for own in draws])


def _gaussian(e: "Explanation", what: str) -> Values:
    """The standard deviations of attributions that are Gaussian."""
    if e.std is None or not e.gaussian:
        raise ValueError(
            f"{what} needs draws, because attributions through a link are not Gaussian; ask for them with "
            "explain(uncertainty=gplens.Samples(1000, seed=0))."
        )
    return e.std


def _joint(e: "Explanation", what: str) -> Float[Tensor, "b draws *c d"]:
    if e.draws is None or not e.joint_draws:
        raise ValueError(
            f"{what} needs joint draws of the attributions; ask for them with "
            "explain(uncertainty=gplens.Samples(1000, seed=0))."
        )
    return e.draws


def _feature(e: "Explanation", name: str) -> int:
    if name not in e.feature_names:
        raise ValueError(f"There is no feature {name!r}; they are {list(e.feature_names)}.")
    return e.feature_names.index(name)
