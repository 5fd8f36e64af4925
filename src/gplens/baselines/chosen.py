"""Baselines that are rows of a table, chosen by distance or by outcome.

Distances are Euclidean after each column of the table is divided by its standard deviation; a column that is constant
in the table is ignored.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.adapters.tables import frame_of
from gplens.baselines.tabular import Tabular, count_of

BLOCK = 2**22
"""The most distances computed at once."""


@final
class Medoid(Tabular):
    """The most central row of a table, with the smallest sum of distances to the others: a typical row that exists.

    The n^2 distances between n rows are computed anew in every call of `explain`. Pass a part of a large table.

    Args:
        X: the table.
        what: the name of the table in messages.
        vectors: whether a single row is accepted as a table.

    Example:
        >>> e = gplens.explain(gp, X[3:4], baseline=gplens.baselines.Medoid(X), likelihood=gplens.links.Identity())
        >>> e.baseline.tolist()
        [[0.5, 0.5]]
    """

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        scaled = _scaled(table, table)
        size = max(1, BLOCK // len(table))
        total = torch.cat([torch.cdist(block, scaled).sum(1) for block in scaled.split(size)])
        return table[total.argmin()].expand(1, 1, -1)


@final
class Nearest(Tabular):
    """For each input, the nearest row of a table with another outcome: why is this input not like that row?

    `Nearest(X, y, where="benign")`, `Nearest(X, y, where=lambda y: y > 100)`, `Nearest(X, y, unlike=model.predict(X1))`
    to explain X1.

    Args:
        X: the table.
        y: the outcome of each row.
        where: the rows to choose from: a label, a mask with True or False for each row, or a function from y to a mask.
        unlike: in place of `where`, a label for each explained input, or one label for all: rows with this label
            are left out.

    Raises:
        ValueError: if not exactly one of `where` and `unlike` is given, or no row is left to choose from.

    Example:
        >>> low = gplens.baselines.Nearest(X, y, where=lambda y: y < 1.5)
        >>> gplens.explain(gp, X[3:4], baseline=low, likelihood=gplens.links.Identity()).baseline.tolist()
        [[0.5, 0.5]]
    """

    def __init__(self, X: Any, y: Any, *, where: Any = None, unlike: Any = None) -> None:
        super().__init__(X)
        outcomes = _outcomes(y, self.given.rows)
        if (where is None) == (unlike is None):
            given = "neither" if where is None else "both"
            raise ValueError(f"expected where= or unlike=, got {given}. Write where=label or where=lambda y: y > 100.")
        if unlike is None:
            self.allowed = torch.from_numpy(_mask(outcomes, where))[None]
        else:
            self.allowed = torch.from_numpy(np.atleast_1d(_plain(unlike))[:, None] != outcomes[None])
        if not bool(self.allowed.any(1).all()):
            given = f"where={where!r}" if unlike is None else f"unlike={unlike!r}"
            raise ValueError(f"expected some rows to choose from, got none of {count_of(len(outcomes))} with {given}.")

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "b 1 d"]:
        if len(self.allowed) not in (1, len(X)):
            raise ValueError(
                f"expected unlike= with a label for each of {count_of(len(X))} of X, got {len(self.allowed)}."
            )
        size = max(1, BLOCK // len(table))
        support, inputs = _scaled(table, table), _scaled(X, table)
        masks = self.allowed.expand(len(X), -1).split(size)
        chosen = [_nearest(x, support, mask) for x, mask in zip(inputs.split(size), masks, strict=True)]
        return table[torch.cat(chosen)][:, None]


@final
class Incumbent(Tabular):
    """The row of a table with the largest outcome observed so far, or, with `minimize`, the smallest.

    Args:
        X: the table of what was tried.
        y: the outcome of each row.
        minimize: whether the smallest outcome is the best.

    Raises:
        ValueError: if X and y have different numbers of rows, or an outcome is not a finite number.

    Example:
        >>> best = gplens.baselines.Incumbent(X, y)
        >>> gplens.explain(gp, X[:1], baseline=best, likelihood=gplens.links.Identity()).baseline.tolist()
        [[1.0, 1.0]]
    """

    def __init__(self, X: Any, y: Any, *, minimize: bool = False) -> None:
        super().__init__(X)
        outcomes = _outcomes(y, self.given.rows)
        if outcomes.dtype.kind not in "biuf" or not bool(np.isfinite(outcomes).all()):
            raise ValueError(
                "expected outcomes y that are finite numbers, got others; leave out rows without a result."
            )
        self.best, self.minimize = int(outcomes.argmin() if minimize else outcomes.argmax()), minimize

    def of_table(self, table: Float[Tensor, "n d"], X: Float[Tensor, "b d"]) -> Float[Tensor, "1 1 d"]:
        return table[self.best].expand(1, 1, -1)

    def __repr__(self) -> str:
        return f"Incumbent(row {self.best} of {self.given.rows}, the {'smallest' if self.minimize else 'largest'} y)"


def _scaled(X: Float[Tensor, "b d"], table: Float[Tensor, "n d"]) -> Float[Tensor, "b k"]:
    """Columns divided by their standard deviations in the table, without the columns that are constant there."""
    varies = table.amax(0) > table.amin(0)
    return X[:, varies] / table[:, varies].std(0, correction=0)


def _nearest(x: Float[Tensor, "b k"], Z: Float[Tensor, "n k"], allowed: Bool[Tensor, "b n"]) -> Tensor:
    """The position of the nearest allowed row; the first one of a tie."""
    return torch.cdist(x, Z).masked_fill(~allowed, torch.inf).argmin(1)


def _plain(y: Any) -> NDArray[Any]:
    """A column of a frame, a tensor or a list as an array."""
    if isinstance(y, Tensor):
        return y.detach().cpu().numpy()
    frame = frame_of(y, "y")
    return np.asarray(y if frame is None else frame.to_numpy())


def _outcomes(y: Any, rows: int) -> NDArray[Any]:
    """The outcome of each row."""
    outcomes = _plain(y)
    outcomes = outcomes[:, 0] if outcomes.ndim == 2 and outcomes.shape[1] == 1 else outcomes
    if outcomes.shape != (rows,):
        raise ValueError(f"expected {rows} outcomes y, one for each row of X, got shape {outcomes.shape}.")
    return outcomes


def _mask(outcomes: NDArray[Any], where: Any) -> NDArray[np.bool_]:
    """The rows that `where` allows."""
    if isinstance(where, Callable):
        chosen = np.asarray(where(outcomes))
    else:
        chosen = _plain(where) if np.ndim(where) else np.asarray(outcomes == where)
    if chosen.shape != outcomes.shape or chosen.dtype != np.bool_:
        raise ValueError(
            f"expected where= to be a label, or True or False for each of {len(outcomes)} rows, got {where!r}, which "
            f"gives {chosen.dtype} of shape {chosen.shape}. Write where=lambda y: y > 100."
        )
    return chosen
