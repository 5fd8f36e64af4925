"""Fitted estimators from the folders that `saving.py` wrote."""

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
from gpytorch.constraints import Positive
from gpytorch.likelihoods import (
    BernoulliLikelihood,
    GaussianLikelihood,
    SoftmaxLikelihood,
)
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from torch import Tensor

from gplens.baselines import Inputs
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.number import Number
from gplens.columns.planning import from_json
from gplens.columns.scalar import ScalarColumn
from gplens.estimators.base import GPEstimator
from gplens.estimators.classification import GPClassifier
from gplens.estimators.count_regression import GPCountRegressor
from gplens.estimators.fitting import Fit
from gplens.estimators.gp_models import Exact, Sparse, kernel_of, prior_mean
from gplens.estimators.own_likelihoods import Logistic, LogNegativeBinomial, LogPoisson, SquaredScale
from gplens.estimators.regression import GPRegressor
from gplens.estimators.representatives import kept_rows
from gplens.estimators.saving import FORMAT, JSON, VERSION
from gplens.estimators.scaling import fixed_noise
from gplens.estimators.training.options import Adam, Constant, Cosine, EarlyStopping, NaturalGradients, Training
from gplens.estimators.variance_regression import GPVarianceRegressor
from gplens.explanation.storage import DamageError, check_version, checksum_holds

ESTIMATORS = {kind.__name__: kind for kind in (GPRegressor, GPCountRegressor, GPVarianceRegressor, GPClassifier)}
OPTIONS = {kind.__name__: kind for kind in (Training, Adam, NaturalGradients, Cosine, Constant, EarlyStopping)}


def load(folder: str | Path) -> GPEstimator:
    """Read a fitted estimator from a folder that `save` wrote.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, of another kind, or of a newer version of gplens.

    Args:
        folder: what `save` of an estimator wrote.

    Returns:
        The estimator, which predicts and explains as the saved one did.

    Example:
        >>> from gplens.estimators import load
        >>> type(load(saved)).__name__  # `saved` is the folder of a GPRegressor
        'GPRegressor'
    """
    folder = Path(folder)
    header = _read_header(folder / JSON)
    try:
        tensors = _read_tensors(folder, header["tensors"], header["sha256"])
        estimator = ESTIMATORS[header["estimator"]](**{k: _decode(v) for k, v in header["parameters"].items()})
        fitted = _fill(estimator, header, tensors)
    except DamageError as damage:
        raise ValueError(f"expected a model that save() wrote, got {folder}, {damage}; save the model again.") from None
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as cause:
        raise ValueError(
            f"expected a model that save() wrote, got {folder}, whose parts do not fit together "
            f"({type(cause).__name__}: {cause}); save the model again."
        ) from cause
    if header["format_version"] == 1:
        warnings.warn(
            f"{folder / JSON} has format 1, which has no checksum: damage to it would not be noticed. If the model is "
            "right, save it again to add one.",
            stacklevel=2,
        )
    return fitted


def _read_header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        got = f"{path.parent} without {path.name}" if path.parent.is_dir() else f"{path.parent}, which is no folder"
        raise FileNotFoundError(f"expected the folder of a model, from `gplens fit` or save(), got {got}.")
    content = path.read_bytes()
    try:
        holds = checksum_holds(content)
        if holds is False:
            raise DamageError("whose SHA-256 is not the one that it states: it is damaged or was edited")
        header = json.loads(content)
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise DamageError("which is other JSON")
        check_version(header, VERSION, has_checksum=holds is not None)
    except DamageError as damage:
        raise ValueError(f"expected the JSON of a model that save() wrote, got {path}, {damage}.") from damage
    except ValueError as cause:
        raise ValueError(
            f"expected the JSON of a model that save() wrote, got {path}, which is damaged or another file ({cause}); "
            "save the model again."
        ) from cause
    return header


def _read_tensors(folder: Path, name: str, digest: str) -> dict[str, Tensor]:
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(f"expected the file {name!r} in {folder}, found none; copy the whole folder.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise DamageError(f"where {path.name} of {len(content)} bytes does not have the SHA-256 that {JSON} gives")
    try:
        return from_bytes(content)
    except SafetensorError as cause:
        raise DamageError(f"where {path.name} is no safetensors file ({cause})") from cause


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if value["type"] == "columns":
        return {key: from_json(kind) for key, kind in value["kinds"]}
    fields = {key: _decode(part) for key, part in value.items() if key != "type"}
    return OPTIONS[value["type"]](**fields)


def _fill(estimator: Any, header: dict[str, Any], tensors: dict[str, Tensor]) -> GPEstimator:
    """Set the fitted attributes from what the files hold."""
    plan, inputs = _plan(header), tensors["mean_input"].shape
    if inputs != (len(plan.inputs),) or len(plan.columns) != header["features"]:
        raise DamageError(f"whose {JSON} has {len(plan.inputs)} inputs, where the tensors have {tuple(inputs)}")
    estimator.n_features_in_ = header["features"]
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    if header["classes"] is not None:
        kind = header["classes"]["dtype"]
        estimator.classes_ = np.array(header["classes"]["labels"], dtype=object if kind == "|O" else kind)
    likelihood = _likelihood(header["likelihood"], tensors)
    d = len(plan.inputs)
    model = _exact(header, tensors, likelihood, d) if "X" in tensors else _sparse(header, tensors, d)
    for module, prefix in ((model, "model."), (likelihood, "likelihood.")):
        state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        module.load_state_dict(state)
        module.eval().requires_grad_(False)
    background = _background(tensors, len(plan.inputs))
    estimator._finish(Fit(model, likelihood, header["training"]), plan, tensors["mean_input"], background)
    return estimator


def _background(tensors: dict[str, Tensor], inputs: int) -> Inputs | None:
    """The rows that the model keeps for a baseline; folders of older versions have none."""
    if "background" not in tensors:
        return None
    rows, shares = tensors["background"], tensors["background_weights"]
    if rows.shape[1:] != (inputs,) or shares.shape != rows.shape[:1]:
        raise DamageError(f"whose background of shape {tuple(rows.shape)} does not fit {inputs} inputs and its weights")
    return kept_rows(rows, shares)


def _likelihood(name: str, tensors: dict[str, Tensor]) -> gpytorch.likelihoods.Likelihood:
    counts = [len(tensor) for key, tensor in tensors.items() if key.endswith("variational_mean")]
    makers = {
        "GaussianLikelihood": lambda: GaussianLikelihood(noise_constraint=Positive()),
        "LogPoisson": LogPoisson,
        "LogNegativeBinomial": lambda: LogNegativeBinomial(1.0),
        "SquaredScale": lambda: SquaredScale(0.0),
        "BernoulliLikelihood": BernoulliLikelihood,
        "Logistic": Logistic,
        "SoftmaxLikelihood": lambda: SoftmaxLikelihood(num_classes=counts[0], mixing_weights=False),
    }
    return makers[name]().double()


def _plan(header: dict[str, Any]) -> ColumnPlan:
    """What is done with each column; folders without it have numbers only."""
    if "columns" in header:
        return from_json(header["columns"])
    names = header["feature_names"] or [f"x{k}" for k in range(header["features"])]
    columns = tuple(ScalarColumn(name, Number(), "number", None, None) for name in names)
    return ColumnPlan(columns, header["feature_names"] is not None)


def _exact(header: dict[str, Any], tensors: dict[str, Tensor], likelihood: Any, d: int) -> Exact:
    kernel = kernel_of(header["kernel"], d, None)
    if "noise" in tensors:  # rows have weights
        likelihood = fixed_noise(tensors["noise"])
    return Exact(tensors["X"], tensors["y"], likelihood, kernel, prior_mean(None, 0.0)).double()


def _sparse(header: dict[str, Any], tensors: dict[str, Tensor], d: int) -> Sparse:
    named = {name.rpartition(".")[2]: tensor for name, tensor in tensors.items()}
    a, Z = named["variational_mean"], named["inducing_points"]
    latents, kernels = (len(tensor) if tensor.ndim == axes else None for tensor, axes in ((a, 2), (Z, 3)))
    kernel = kernel_of(header["kernel"], d, kernels)
    return Sparse(Z, kernel, prior_mean(latents, 0.0), latents=latents, jitter=header["jitter"]).double()
