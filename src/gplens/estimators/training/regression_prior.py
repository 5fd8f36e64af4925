"""The prior of the hyperparameters of regression (6.18), and the bounds within which they are looked for."""

from dataclasses import replace
from math import log

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import Bounds
from torch import Tensor

from gplens.estimators.training.ascent import box
from gplens.estimators.training.kernel_parameters import Hyperparameters, Structure

SHORT, LONG = 1.0, 3.0
"""Prior deviations of the logarithm of the common lengthscale, below and above the typical distance: functions that are
almost linear have long ones, and noise must not pass for a rough function."""
COST, WELL = 1.0, 8**-0.5
"""The most nats that a column with little effect costs, and the ratio of its lengthscale to the common one, in
logarithms, that costs two fifths of it."""
NOISE, SPREAD = 0.2, 1.5
"""Prior median of the noise variance, for targets of variance one, and deviation of its logarithm."""
LARGEST, SILENT = 1e3, 1e-6
"""The largest variance of the function and the smallest noise of an exact model, for targets of variance one. Beyond
their ratio, predictions lose the digits that attributions and their error bars need."""


def log_prior(at: Hyperparameters, structure: Structure) -> Float[Tensor, ""]:
    """The log density of lengthscales and noise, up to a constant; the logarithm of the variance is uniform  (6.18)."""
    assert at.log_noise is not None
    common, apart = _common_and_apart(at, structure)
    squares = apart.square() / 2
    columns = torch.where(apart > 0, COST * torch.expm1(-squares / WELL**2), -squares).sum()
    width = torch.where(common > 0, LONG, SHORT)
    return columns - ((common / width).square().sum() + ((at.log_noise - log(NOISE)) / SPREAD).square()) / 2


def widened(at: Hyperparameters, structure: Structure, rows: float) -> Hyperparameters:
    """Function and noise with the variance of rows - p degrees of freedom, p lengthscales being in use  (6.19)."""
    assert at.log_noise is not None
    _, apart = _common_and_apart(at, structure)
    used = float(torch.where(apart > 0, (-apart.square() / (2 * WELL**2)).exp(), 1.0).sum())
    wider = log(rows / max(rows - used, rows / 2))
    return replace(at, log_outputscale=at.log_outputscale + wider, log_noise=at.log_noise + wider)


def _common_and_apart(at: Hyperparameters, structure: Structure) -> tuple[Float[Tensor, " k"], Float[Tensor, "k s"]]:
    """c and u - c: the logarithms of the common lengthscale over the typical distance, and of all over the common."""
    log_ratio = at.log_lengthscale - log(structure.typical)
    common = -(torch.logsumexp(-2 * log_ratio, 1) - log(log_ratio.shape[1])) / 2
    return common, log_ratio - common[:, None]


def limits(at: Hyperparameters, structure: Structure, quiet: float) -> Bounds:
    """Bounds of the vector, with the largest variance."""
    bounds = box(at, structure, quiet)
    ends = np.cumsum([0, *(tensor.numel() for tensor in at.tensors().values())])
    place = list(at.tensors()).index("log_outputscale")
    upper = np.array(bounds.ub)  # a copy: scipy's own arrays may share their memory
    upper[ends[place] : ends[place + 1]] = log(LARGEST)
    return Bounds(bounds.lb, upper)  # type: ignore[arg-type]
