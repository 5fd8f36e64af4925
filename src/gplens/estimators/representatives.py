"""A few representative training rows: the default baseline of an estimator's explanations."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.baselines import Inputs
from gplens.estimators.scaling import Scaling
from gplens.estimators.training.rows import LARGE, generator_of, kmeans
from gplens.estimators.weights import Weights

ROWS = 20
"""The most rows that are kept. Recipe: benchmarks/representatives.py prints attributions against those of a background
of all training rows, over the number of rows kept."""
MOST_ROWS = 100_000
"""The most rows that are clustered, a random part of larger tables; the shares are then accurate to 0.003."""
BLOCK = 4096
"""The most rows whose distances to the centres are computed at once."""


def representatives(X: Float[Tensor, "n e"], scaling: Scaling, weights: Weights, seed: int) -> Inputs:
    """The row nearest to the centre of each k-means cluster of the scaled rows, weighted by the cluster's share."""
    if len(X) > MOST_ROWS:
        part = torch.randperm(len(X), generator=generator_of(seed, LARGE))[:MOST_ROWS].sort().values
        X, weights = X[part], None if weights is None else weights[part]
    scaled = scaling.apply(X)
    centres = kmeans(scaled, ROWS, seed)
    distances, cluster = _nearest(scaled, centres)
    counts = torch.ones(len(X), dtype=X.dtype) if weights is None else weights
    rows, shares = [], []
    for k in range(len(centres)):
        members = (cluster == k).nonzero()[:, 0]
        if len(members):
            rows.append(members[distances[members].argmin()])
            shares.append(counts[members].sum())
    share, chosen = torch.stack(shares), torch.stack(rows)
    order = share.argsort(descending=True, stable=True)
    return kept_rows(X[chosen[order]], share[order] / share.sum())


def kept_rows(rows: Float[Tensor, "k e"], shares: Float[Tensor, " k"]) -> Inputs:
    """The baseline that an estimator keeps."""
    return Inputs(rows, f"its background of {len(rows)} typical training rows", background=True, weights=shares)


def _nearest(X: Float[Tensor, "n e"], centres: Float[Tensor, "k e"]) -> tuple[Float[Tensor, " n"], Int[Tensor, " n"]]:
    """The distance of each row to the nearest centre, and the index of that centre."""
    blocks = [torch.cdist(block, centres).min(1) for block in X.split(BLOCK)]
    return torch.cat([block.values for block in blocks]), torch.cat([block.indices for block in blocks])
