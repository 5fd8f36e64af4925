"""A model of BoTorch as parts: one for each model of a list, refused where its posterior is not understood."""

from typing import Any

import torch
from botorch.models.approximate_gp import ApproximateGPyTorchModel
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.model import ModelList
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.copies import double_copy
from gplens.adapters.botorch.exact import read_exact
from gplens.adapters.botorch.inputs import read_inputs
from gplens.adapters.botorch.outcomes import read_outcome
from gplens.adapters.botorch.part import Part
from gplens.adapters.botorch.printed import check_printed, read_noise
from gplens.adapters.botorch.variational import read_sparse
from gplens.adapters.gpytorch.check import DOUBLE, SINGLE, prior_variance
from gplens.adapters.gpytorch.copies import frozen_copy
from gplens.functionals import Expectation
from gplens.mixture import mixed


def read_parts(model: Any, points: Float[Tensor, "k d"]) -> tuple[Part, ...]:
    """The model itself, or those of a list, at any depth."""
    if isinstance(model, ModelList):
        return sum((read_parts(own, points) for own in model.models), ())
    _check_supported(model, points)
    return (_read_part(model, points),)


def _read_part(model: Any, points: Float[Tensor, "k d"]) -> Part:
    copy: Any = double_copy(model)
    inputs, outcome, sparse = (
        read_inputs(copy, points),
        read_outcome(copy, copy.num_outputs),
        isinstance(copy, ApproximateGPyTorchModel),
    )
    draws = (copy.num_mcmc_samples,) if copy._is_fully_bayesian else (1,) * copy.num_outputs
    if sparse:
        process, notes = read_sparse(copy, inputs, outcome, points)
    else:
        process, notes = read_exact(copy, sum(draws), inputs, outcome, points)
    links = tuple(link for link, count in zip(outcome.links(), draws, strict=True) for _ in range(count))
    same = next(model.parameters()).dtype == torch.float64
    hosts = [(copy, DOUBLE)] if same else [(copy, DOUBLE), (frozen_copy(model), SINGLE)]
    prior = prior_variance(copy.model if sparse else copy, copy.transform_inputs(points)) * outcome.scale.max() ** 2
    response = mixed(Expectation(links), draws)

    def check(points: Float[Tensor, "k d"]) -> tuple[str, ...]:
        return tuple(check_printed(host, process, response, points, limit, prior) for host, limit in hosts)

    return Part(process, links, read_noise(copy, points), draws, notes, check, conjugate=not sparse)


def _check_supported(model: Any, points: Float[Tensor, "k d"]) -> None:
    name = type(model).__name__
    bayesian = model._is_fully_bayesian and hasattr(model, "load_mcmc_samples") and not hasattr(model, "num_tasks")
    if not (isinstance(model, SingleTaskGP | ApproximateGPyTorchModel) or bayesian):
        raise TypeError(
            f"gplens does not know how to read BoTorch's {name}; wanted was a SingleTaskGP or one of its kin, a "
            "MixedSingleTaskGP, a SingleTaskVariationalGP, a fully Bayesian single-task GP, or a ModelListGP of these."
        )
    if bayesian and model.covar_module is None:
        raise ValueError(
            f"The {name} has no draws of its hyper-parameters: it was never fitted, or put into training mode, which "
            "throws them away. Call fit_fully_bayesian_model_nuts(model)."
        )
    batch = torch.Size() if bayesian or not hasattr(model, "train_inputs") else model.batch_shape
    if len(batch):
        raise ValueError(
            f"The {name} is a batch of models, of shape {tuple(batch)}. Explain them one by one: an explanation is of "
            "one model."
        )
    features = _features(model)
    if features is not None and features != points.shape[1]:
        raise ValueError(f"X has {points.shape[1]} columns; the model was fitted on {features}.")


def _features(model: Any) -> int | None:
    """Of the raw inputs, where the model keeps some."""
    if not hasattr(model, "train_inputs"):
        return None
    return (model._original_train_inputs if model._has_transformed_inputs else model.train_inputs[0]).shape[-1]
