"""Where inducing points start, and how far points are apart."""

import torch
from jaxtyping import Float
from torch import Tensor

ROWS = 20_000
"""Rows that k-means and the median look at."""
ROUNDS = 10


def first(X: Float[Tensor, "n d"], count: int, generator: torch.Generator) -> Float[Tensor, "m d"]:
    """The first rows, as in the paper."""
    return X[:count].clone()


def kmeans(X: Float[Tensor, "n d"], count: int, generator: torch.Generator) -> Float[Tensor, "m d"]:
    """Lloyd's algorithm from random different rows. A centre that loses all of its rows stays where it was."""
    X = X[torch.randperm(len(X), generator=generator)[:ROWS]]
    different = X.unique(dim=0)
    Z = different[torch.randperm(len(different), generator=generator)[:count]]
    for _ in range(ROUNDS if len(Z) < len(different) else 0):
        nearest = (Z.square().sum(1) - 2 * X @ Z.T).argmin(1)
        members = torch.zeros_like(Z[:, 0]).index_add_(0, nearest, torch.ones_like(X[:, 0]))
        total = torch.zeros_like(Z).index_add_(0, nearest, X)
        Z = torch.where(members[:, None] > 0, total / members.clamp(min=1)[:, None], Z)
    return Z


PLACEMENTS = {"first": first, "kmeans": kmeans}


def typical_distance(X: Float[Tensor, "n d"], generator: torch.Generator) -> float:
    """The median distance of pairs of different rows over sqrt 2: sqrt d for standardised independent columns."""
    X = X[torch.randperm(len(X), generator=generator)[:1000]]
    distances = torch.pdist(X)
    distances = distances[distances > 0]
    return float(distances.median()) / 2**0.5 if len(distances) else 1.0
