"""BayBE's objectives inside acquisition functions: affine ones are replaced by `AffineObjective`."""

from collections.abc import Callable
from copy import copy
from typing import Any

import torch
from baybe.exceptions import NonGaussianityError
from baybe.objectives.base import Objective

from gplens.adapters.botorch.affine_objective import AffineObjective

SAME = 1e-9
"""The largest difference of two evaluations of one acquisition function, relative to the largest value."""


def known_objectives(make: Callable[[], Any], objective: Objective | None) -> Callable[[], Any]:
    """A function that makes the acquisition function, with an `AffineObjective` if its objective is affine."""
    return lambda: with_known_objective(make(), objective)


def with_known_objective(acquisition: Any, objective: Objective | None) -> Any:
    """A copy of the acquisition function with the same samples and values, and an `AffineObjective`.

    BayBE puts affine objectives inside functions of samples, which do not tell that they are affine; its posterior
    transform does. The acquisition function itself is returned if its objective is not affine.
    """
    if objective is None or getattr(acquisition, "objective", None) is None:
        return acquisition
    try:
        transform: Any = objective.to_botorch_posterior_transform()
    except (NonGaussianityError, NotImplementedError):
        return acquisition
    models = getattr(acquisition.model, "models", (acquisition.model,))
    points = models[0].train_inputs[0][:2, None]
    with torch.no_grad():
        values = acquisition(points)  # which draws the samples, if they were not drawn before
        affine = copy(acquisition)
        affine._modules = dict(acquisition._modules)  # the copy of a module shares this dictionary with it
        affine.objective = AffineObjective(transform.weights.to(torch.float64), float(transform.offset))
        difference = (values - affine(points)).abs().max()
    return affine if bool(difference <= SAME * values.abs().max()) else acquisition
