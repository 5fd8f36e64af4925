"""BayBE's surrogates and measurements as an insight uses them, and errors for those that it does not support."""

from typing import Any

import numpy as np
import pandas
import torch
from baybe.exceptions import IncompatibleSurrogateError
from baybe.objectives.base import Objective
from baybe.searchspace import SearchSpace
from baybe.surrogates import CompositeSurrogate, GaussianProcessSurrogate
from jaxtyping import Float
from torch import Tensor

from gplens.explanation import Explanation


def processes_of(surrogate: Any) -> tuple[GaussianProcessSurrogate, ...]:
    """The Gaussian processes of a surrogate, one for each modelled target.

    Raises:
        IncompatibleSurrogateError: one of them is something else, whose gradient nobody knows.
    """
    parts = surrogate._surrogates_flat if isinstance(surrogate, CompositeSurrogate) else (surrogate,)
    others = [type(part).__name__ for part in parts if not isinstance(part, GaussianProcessSurrogate)]
    if others:
        raise IncompatibleSurrogateError(
            f"expected surrogates of type GaussianProcessSurrogate, got {', '.join(others)}; "
            "baybe.insights.SHAPInsight samples surrogates of any type."
        )
    return tuple(part for part in parts if isinstance(part, GaussianProcessSurrogate))


def trained_space(surrogate: GaussianProcessSurrogate, data: pandas.DataFrame) -> SearchSpace:
    """The search space that a surrogate was trained on.

    Raises:
        ModelNotTrainedError: from BayBE, if the surrogate was not fitted.
    """
    if surrogate._searchspace is None:
        surrogate.posterior(data)  # raises
    space: Any = surrogate._searchspace
    return space


def predicted(
    surrogate: GaussianProcessSurrogate, rows: pandas.DataFrame, *, use_comp_rep: bool
) -> Float[Tensor, " b"]:
    """The prediction of BayBE, in the units of the modelled target."""
    with torch.no_grad():
        if use_comp_rep:
            posterior: Any = surrogate._posterior_comp(torch.tensor(rows.to_numpy(dtype=float).copy()))
        else:
            posterior = surrogate.posterior(rows)
    return posterior.mean.flatten()


def measured(
    searchspace: SearchSpace, objective: Objective | None, measurements: pandas.DataFrame, *, use_comp_rep: bool
) -> tuple[pandas.DataFrame, pandas.Series | None]:
    """The measured experiments, and the best one by the objective; None for several targets, or if none is complete."""
    data: Any = measurements[[parameter.name for parameter in searchspace.parameters]]
    data = searchspace.transform(data) if use_comp_rep else data
    if objective is None or objective.is_multi_output:
        return data, None
    desirability = objective.transform(measurements, allow_extra=True).iloc[:, 0].to_numpy(dtype=float)
    if np.isnan(desirability).all():
        return data, None
    return data, data.iloc[int(np.nanargmax(desirability))]  # partial measurements have none


def rows_of(data: pandas.DataFrame | None, background: pandas.DataFrame) -> pandas.DataFrame:
    """The explained columns, in the order of the background; the background itself if there is no data."""
    if data is None:
        return background
    missing = [name for name in background.columns if name not in data.columns]
    if missing:
        raise ValueError(f"data must contain all columns that were used for the background, got none for {missing}.")
    chosen: Any = data[list(background.columns)]
    return chosen


def in_order_of(data: pandas.DataFrame, explanation: Explanation) -> Explanation:
    """The explanation with its features in the order of the columns of the data."""
    names = explanation.feature_names
    ordered = [str(name) for name in data.columns if name in names]
    return explanation.summed({name: [names.index(name)] for name in ordered})
