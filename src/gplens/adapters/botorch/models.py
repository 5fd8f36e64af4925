"""A model of BoTorch as parts: one for each model of a list, refused where its posterior is not understood."""

from collections.abc import Callable
from typing import Any

import torch
from botorch.models.approximate_gp import ApproximateGPyTorchModel
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import ModelList
from botorch.models.multitask import MultiTaskGP
from gpytorch.models import ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.copies import double_copy
from gplens.adapters.botorch.exact import read_exact
from gplens.adapters.botorch.inputs import read_inputs
from gplens.adapters.botorch.outcomes import Outcome, read_outcome
from gplens.adapters.botorch.part import Part
from gplens.adapters.botorch.printed import check_printed, read_noise
from gplens.adapters.botorch.tasks import check_tasks
from gplens.adapters.botorch.variational import read_sparse
from gplens.adapters.gpytorch.check import DOUBLE, SINGLE, prior_variance
from gplens.adapters.gpytorch.copies import frozen_copy
from gplens.expectations.elementwise import ExpectedLink
from gplens.expectations.expectation import Expectation
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.processes.process import Process

READ = (SingleTaskGP, MultiTaskGP, ApproximateGPyTorchModel)
"""With all that inherits from them. Fully Bayesian models are told by a flag: to import them is to import JAX."""


def read_parts(model: Any, points: Float[Tensor, "k d"]) -> tuple[Part, ...]:
    """The model itself, or those of a list, at any depth."""
    if _is(model, ModelList):
        return sum((read_parts(own, points) for own in model.models), ())
    _check_supported(model)
    return (_read_part(model, points),)


def _read_part(model: Any, points: Float[Tensor, "k d"]) -> Part:
    copy, sparse = double_copy(model), _is(model, ApproximateGPyTorchModel)
    outputs = 1 if _is(model, MultiTaskGP) else copy.num_outputs
    draws = (copy.num_mcmc_samples,) if copy._is_fully_bayesian else (1,) * outputs
    inputs, outcome = read_inputs(copy, points), read_outcome(copy, outputs)
    if sparse:
        process, notes = read_sparse(copy, inputs, outcome, points)
    else:
        process, notes = read_exact(copy, sum(draws), inputs, outcome, points)
    links = (outcome.link,) * sum(draws)
    check = _check_against(model, copy, process, over_hyperparameters(ExpectedLink(links), draws), outcome, points)
    return Part(process, links, read_noise(copy, points), draws, notes, check, conjugate=not sparse)


def _check_against(
    model: Any, copy: Any, process: Process, response: Expectation, outcome: Outcome, points: Float[Tensor, "k d"]
) -> Callable[[Float[Tensor, "k d"]], tuple[str, ...]]:
    """The comparison with the copy in float64, and with one in the model's own precision if that is another."""
    same = next(model.parameters()).dtype == torch.float64
    hosts = [(copy, DOUBLE)] if same else [(copy, DOUBLE), (frozen_copy(model), SINGLE)]
    inner = copy.model if _is(copy, ApproximateGPyTorchModel) else copy
    prior = prior_variance(inner, copy.transform_inputs(points)) * outcome.scale.max() ** 2

    def check(points: Float[Tensor, "k d"]) -> tuple[str, ...]:
        return tuple(check_printed(host, process, response, points, limit, prior) for host, limit in hosts)

    return check


def _check_supported(model: Any) -> None:
    name, bayesian = type(model).__name__, model._is_fully_bayesian
    if not (_is(model, ExactGP) and not _is(model, MultiTaskGP) if bayesian else _is(model, *READ)):
        raise TypeError(
            f"gplens does not know how to read BoTorch's {name}; wanted was a SingleTaskGP or one of its kin, a "
            "MixedSingleTaskGP, a MultiTaskGP, a SingleTaskVariationalGP, a fully Bayesian single-task GP, or a "
            "ModelListGP of these."
        )
    if bayesian and model.covar_module is None:
        raise ValueError(
            f"The {name} has no draws of its hyper-parameters: it was never fitted, or put into training mode, which "
            "throws them away. Call fit_fully_bayesian_model_nuts(model)."
        )
    if not bayesian and _is(model, ExactGP) and len(model.batch_shape):
        batch = tuple(model.batch_shape)
        raise ValueError(f"The {name} is a batch of models, of shape {batch}. Explain them one by one.")


def check_points(model: Any, points: Float[Tensor, "k d"]) -> None:
    """Refuse inputs that are not the model's own."""
    if _is(model, ModelList):
        for own in model.models:
            check_points(own, points)
    if _is(model, MultiTaskGP):
        check_tasks(model, points)
    if not _is(model, ExactGP):
        return  # nothing is kept of the raw inputs: the transform, or the kernel, will tell
    raw = model._original_train_inputs if model._has_transformed_inputs else model.train_inputs[0]
    if raw.shape[-1] != points.shape[1]:
        raise ValueError(f"X has {points.shape[1]} columns; the model was fitted on {raw.shape[-1]}.")


def _is(model: Any, *kinds: type) -> bool:
    """isinstance, without telling the type checker, to whom the host's attributes are tensors or modules."""
    return isinstance(model, kinds)
