"""The uncertainty of sums and differences of attributions: by their covariance or draws, never by adding deviations."""

from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

if TYPE_CHECKING:
    from gplens.explanation import Explanation


def grouped_spread(e: "Explanation", columns: list[list[int]]) -> dict[str, Any]:
    """std, covariance and draws of groups of features, by name; nothing where nothing was asked for."""
    if e.std is None and e.draws is None:
        return {}
    if all(len(own) == 1 for own in columns):
        order = [own[0] for own in columns]
        return {"std": _take(e.std, order), "std_error": _take(e.std_error, order), **_joint(e, columns)}
    if e.covariance is None and (e.draws is None or not e.joint_draws):
        raise ValueError(
            "The standard deviation of a group needs the covariances of its features; ask for them with "
            "explain(uncertainty=gplens.Full()), or name the groups in explain(groups=...)."
        )
    joint = _joint(e, columns)
    if (covariance := joint["covariance"]) is None:
        return joint | _from_draws(joint["draws"])
    return joint | {"std": covariance.diagonal(dim1=-2, dim2=-1).clamp(min=0).sqrt(), "std_error": None}


def _joint(e: "Explanation", columns: list[list[int]]) -> dict[str, Any]:
    add = torch.zeros(len(e.feature_names), len(columns), dtype=e.values.dtype)
    for i, own in enumerate(columns):
        add[own, i] = 1.0
    covariance = None if e.covariance is None else add.T @ e.covariance @ add
    return {"covariance": covariance, "draws": None if e.draws is None else e.draws @ add}


def contrasted_spread(e: "Explanation", i: int, j: int) -> dict[str, Any]:
    """Of the difference of two outputs: from joint draws; without them it is not known."""
    nothing = {"std": None, "std_error": None, "covariance": None, "draws": None, "gaussian": False}
    if e.draws is None or not e.joint_draws:
        return nothing
    draws = e.draws[:, :, i] - e.draws[:, :, j]
    return nothing | {"draws": draws} | _from_draws(draws)


def _from_draws(draws: Float[Tensor, "b draws *c d"]) -> dict[str, Any]:
    """The standard deviation of draws, and its Monte Carlo error by their fourth moment."""
    std, n = draws.std(1), draws.shape[1]
    fourth = ((draws - draws.mean(1, keepdim=True)) ** 4).mean(1)
    error = ((fourth - std**4).clamp(min=0) / n).sqrt() / (2 * std)
    return {"std": std, "std_error": torch.where(std > 0, error, 0.0)}


def _take(tensor: Tensor | None, order: list[int]) -> Tensor | None:
    return None if tensor is None else tensor[..., order]
