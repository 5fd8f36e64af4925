"""BoTorch's models and lists of models: each part is read, or refused if it is not supported, and all are stacked."""

from functools import partial
from typing import Any

import torch
from botorch.models.approximate_gp import ApproximateGPyTorchModel
from botorch.models.gp_regression import SingleTaskGP
from botorch.models.kernels.categorical import CategoricalKernel
from botorch.models.kernels.positive_index import PositiveIndexKernel
from botorch.models.model import Model, ModelList
from botorch.models.multitask import MultiTaskGP
from gpytorch.models import ExactGP
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.latents import check_tasks
from gplens.adapters.botorch.predictions import compare_list
from gplens.adapters.botorch.single_model import likelihood_of, raw_inputs, read_part
from gplens.adapters.gpytorch.kernels import TRANSLATIONS, discrete
from gplens.adapters.gpytorch.prior import some_of
from gplens.adapters.gpytorch.variational import base_strategy
from gplens.adapters.reading import Reading, check_columns, read_model
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.lines.line import Line
from gplens.processes.process import Marginals
from gplens.processes.stack import Stack

FAMILY = Model
"""Base classes of BoTorch's models; many also inherit from GPyTorch's ExactGP, but are read here."""
READ = (SingleTaskGP, MultiTaskGP, ApproximateGPyTorchModel)
"""Supported classes, with their subclasses. Fully Bayesian models, whose import imports JAX, are told by a flag."""
TRANSLATIONS.update({CategoricalKernel: discrete, PositiveIndexKernel: discrete})


@read_model.register
def _(model: Model, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read every part and compare the posteriors of shadows; `compare` evaluates the live model, a list as a whole."""
    x = raw_points(model) if points is None else points
    models = _parts_of(model)
    for inner in models:
        _check_points(inner, x)
    parts = tuple(read_part(inner, x) for inner in models)
    process = parts[0].process if len(parts) == 1 else Stack(tuple(part.process for part in parts))
    draws = sum((part.draws for part in parts), ())
    likelihood = likelihood_of(parts)
    response = over_hyperparameters(likelihood.response, draws)
    whole = partial(compare_list, model, response) if isinstance(model, ModelList) else None

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        now = _parts_of(model)
        if [id(inner) for inner in now] != [id(inner) for inner in models]:
            raise ValueError(f"expected the {type(model).__name__} that was read, got one with other models inside.")
        for inner in now:
            _check_points(inner, points)
        each = [at] if len(parts) == 1 else [part.process.along(Line.at(points)) for part in parts]
        notes = dict.fromkeys(note for part, of in zip(parts, each, strict=True) for note in part.compare(points, of))
        if whole is not None:
            whole(points, at)
        return tuple(notes)

    return Reading(
        process,
        type(model).__name__,
        likelihood,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        conjugate=all(part.conjugate for part in parts),
        draws=None if all(count == 1 for count in draws) else draws,
        compare=compare,
    )


def _parts_of(model: Any) -> list[Any]:
    """The model itself, or the models of a list, at any depth."""
    if isinstance(model, ModelList):
        return [part for inner in model.models for part in _parts_of(inner)]
    _check_supported(model)
    return [model]


def _check_supported(model: Any) -> None:
    name, bayesian = type(model).__name__, model._is_fully_bayesian
    batch: Any = model.batch_shape if isinstance(model, ExactGP) and not bayesian else ()
    if not isinstance(model, ExactGP if bayesian else READ):
        raise TypeError(
            "expected a SingleTaskGP or a model that inherits from it, a MixedSingleTaskGP, a MultiTaskGP, a "
            "SingleTaskVariationalGP, a fully Bayesian GP of one task or of several, or a ModelListGP of these, got "
            f"BoTorch's {name}; fit one of these."
        )
    if bayesian and model.covar_module is None:
        raise ValueError(
            f"expected a {name} with draws of its hyper-parameters, got one that was never fitted, or was put into "
            "training mode, which throws them away; call fit_fully_bayesian_model_nuts(model)."
        )
    if len(batch):
        shape = tuple(batch)
        raise ValueError(f"expected a single {name}, got a batch of shape {shape}; explain the models one by one.")


def _check_points(model: Any, points: Float[Tensor, "k d"]) -> None:
    """Refuse inputs with the wrong columns. A variational model keeps no raw inputs by which to check this."""
    if isinstance(model, MultiTaskGP):
        check_tasks(model, points)
    if isinstance(model, ExactGP):
        check_columns(raw_inputs(model).shape[-1], points)


def raw_points(model: Any) -> Float[Tensor, "k d"]:
    """Some raw training inputs; or inducing points, if no transform makes them differ from raw inputs."""
    first = _parts_of(model)[0]
    if isinstance(first, ExactGP):
        raw = raw_inputs(first)
    elif getattr(first, "input_transform", None) is None:
        raw = base_strategy(first.model).inducing_points
    else:
        raise ValueError(
            f"expected points= for a {type(first).__name__} with an input transform, which keeps no raw inputs, got "
            "None; call gplens.read(model, points=X) with a few inputs."
        )
    return some_of(raw.detach().to("cpu", torch.float64).flatten(0, -2))
