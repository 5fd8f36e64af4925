"""The rows that a fit uses: minibatches, and rows for initial inducing points and lengthscales.

Everything random is a function of the seed and a stream number, so that a resumed fit needs no generator state.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.cluster import MiniBatchKMeans
from torch import Tensor

ORDERS = 2**31
"""The first of the streams for the order of the rows, one for each pass over the table. Lower streams are steps."""
PLACEMENT = 2**32 - 1
"""The stream for inducing points and lengthscales."""
LOOKS = 2**32 - 2
"""The stream for evaluations of the bound on held-out rows."""
HELD_OUT = 2**32 - 3
"""The stream for the choice of held-out rows."""
SUBSET = 2**32 - 4
"""The stream for the choice of the rows that hyperparameters are learnt from."""
RIVALS = 2**32 - 5
"""The stream for the rows on which a linear model is compared, and for its predictive draws."""
LARGE = 2**32 - 7
"""The part of a very large table that is used."""

CLUSTERED = 20_000
"""The most rows that k-means uses."""
PASSES = 10
"""Passes of k-means over these rows."""
COMPARED = 1000
"""The most rows whose distances give the typical one."""


def generator_of(seed: int, stream: int) -> torch.Generator:
    """A generator for one stream of a seed.

    torch's generator on the CPU uses 32 bits of its seed, so that seed and stream are mixed into them.
    """
    return torch.Generator().manual_seed(int(np.random.SeedSequence([seed, stream]).generate_state(1)[0]))


@final
@dataclass
class Batches:
    """Minibatches by step: every row once in each pass over the table, in a new order for each pass."""

    rows: int
    size: int
    seed: int
    _order: tuple[int, Int[Tensor, " n"]] | None = field(default=None, init=False)

    def __getitem__(self, step: int) -> Int[Tensor, " b"]:
        """The rows of a step. The last rows of a pass that do not fill a batch are left out of that pass."""
        if self.size >= self.rows:
            return torch.arange(self.rows)
        turn, place = divmod(step, self.rows // self.size)
        if self._order is None or self._order[0] != turn:
            self._order = turn, torch.randperm(self.rows, generator=generator_of(self.seed, ORDERS + turn))
        return self._order[1][place * self.size : (place + 1) * self.size]


def first(X: Float[Tensor, "n d"], count: int, seed: int) -> Float[Tensor, "m d"]:
    """The first rows, as in the paper."""
    return X[:count].clone()


def kmeans(X: Float[Tensor, "n d"], count: int, seed: int) -> Float[Tensor, "m d"]:
    """Different centres of k-means clusters; all different rows where there are no more than `count` of them.

    Minibatches, because their result does not depend on the order in which threads finish, as the sums of Lloyd's
    algorithm do; for the same reason the check of convergence is off. Within 1 % of Lloyd's inertia on MNIST.

    The order is random. Whitened q(u) depends on it, and Adam learns less in a sorted one: the bikes then reach a
    held-out log density of -6 to -9 in place of -5.4.
    """
    generator = generator_of(seed, PLACEMENT)
    X = X[torch.randperm(len(X), generator=generator)[:CLUSTERED]]
    centres = X.unique(dim=0)
    if len(centres) > count:
        size = min(len(X), max(1024, 4 * count))
        options: dict[str, Any] = {"n_init": 1, "batch_size": size, "max_iter": PASSES, "max_no_improvement": None}
        clusters = MiniBatchKMeans(count, **options, random_state=seed).fit(X.numpy())
        centres = torch.from_numpy(clusters.cluster_centers_).unique(dim=0)
    return centres[torch.randperm(len(centres), generator=generator)]


PLACEMENTS: dict[str, Callable[[Float[Tensor, "n d"], int, int], Float[Tensor, "m d"]]] = {
    "auto": kmeans,
    "first": first,
    "kmeans": kmeans,
}
"""Where inducing points start, by the estimators' `inducing=`: functions of the table, their number and the seed.

With "auto", regression by L-BFGS takes rows that the others explain least."""


def typical_distance(X: Float[Tensor, "n d"], seed: int) -> float:
    """The median distance of pairs of different rows over sqrt 2: sqrt d for standardised independent columns."""
    X = X[torch.randperm(len(X), generator=generator_of(seed, PLACEMENT))[:COMPARED]]
    distances = torch.pdist(X)
    distances = distances[distances > 0]
    return float(distances.median()) / 2**0.5 if len(distances) else 1.0
