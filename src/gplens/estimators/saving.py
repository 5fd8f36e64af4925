"""A fitted estimator as a folder: tensors in the safetensors format beside a readable JSON file. No pickle."""

import hashlib
import json
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import Positive
from gpytorch.likelihoods import BernoulliLikelihood, GaussianLikelihood, SoftmaxLikelihood
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gplens.estimators.base import GPEstimator
from gplens.estimators.classification import GPClassifier
from gplens.estimators.count_regression import GPCountRegressor
from gplens.estimators.fitting import Fit
from gplens.estimators.gp_models import Exact, Sparse, kernel_of, prior_mean
from gplens.estimators.likelihoods import Logistic, LogPoisson, SquaredScale
from gplens.estimators.regression import GPRegressor
from gplens.estimators.training.options import Adam, Constant, Cosine, EarlyStopping, NaturalGradients, Training
from gplens.estimators.variance_regression import GPVarianceRegressor
from gplens.explanation.files import write

FORMAT = "gplens estimator"
VERSION = 1
JSON = "model.json"
ESTIMATORS = {kind.__name__: kind for kind in (GPRegressor, GPCountRegressor, GPVarianceRegressor, GPClassifier)}
OPTIONS = {kind.__name__: kind for kind in (Training, Adam, NaturalGradients, Cosine, Constant, EarlyStopping)}


def save(estimator: GPEstimator, folder: Path) -> None:
    """Write the tensors first, named by their hash, then the JSON that names them.

    A crash leaves the old model or the new one. The tensors of an older model in the same folder are removed last.
    """
    check_is_fitted(estimator)
    content = to_bytes(_tensors(estimator))
    digest = hashlib.sha256(content).hexdigest()
    name = f"{digest[:16]}.safetensors"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / name, content)
    write(folder / JSON, json.dumps(_header(estimator, name, digest), indent=2, allow_nan=False).encode())
    for old in folder.glob("*.safetensors"):
        if old.name != name:
            old.unlink()


def load(folder: str | Path) -> GPEstimator:
    """Read a fitted estimator from a folder that `save` wrote.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, of another kind, or of a newer version of gplens.
    """
    header = _read_header(Path(folder) / JSON)
    tensors = _read_tensors(Path(folder) / header["tensors"], header["sha256"])
    estimator = ESTIMATORS[header["estimator"]](**{k: _decode(v) for k, v in header["parameters"].items()})
    return _fill(estimator, header, tensors)


def _tensors(estimator: GPEstimator) -> dict[str, Tensor]:
    tensors = {f"model.{name}": tensor for name, tensor in estimator.model_.state_dict().items()}
    tensors |= {f"likelihood.{name}": tensor for name, tensor in estimator.likelihood_.state_dict().items()}
    model: Any = estimator.model_
    if model.__class__ is Exact:
        tensors |= {"X": model.train_inputs[0], "y": model.train_targets}
    tensors["mean_input"] = torch.from_numpy(estimator.mean_input_)
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def _header(estimator: GPEstimator, name: str, digest: str) -> dict[str, Any]:
    packages = ("gplens", "torch", "gpytorch", "scikit-learn", "safetensors")
    names, classes = getattr(estimator, "feature_names_in_", None), getattr(estimator, "classes_", None)
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "versions": {package: version(package) for package in packages},
        "estimator": type(estimator).__name__,
        "parameters": {key: _encode(value) for key, value in estimator.get_params(deep=False).items()},
        "likelihood": type(estimator.likelihood_).__name__,
        "kernel": estimator.kernel,
        "jitter": None if isinstance(estimator.model_, Exact) else estimator.model_.strategy.jitter_val,
        "features": estimator.n_features_in_,
        "feature_names": None if names is None else names.tolist(),
        "classes": None if classes is None else {"dtype": classes.dtype.str, "labels": classes.tolist()},
        "training": estimator.training_summary_,
        "tensors": name,
        "sha256": digest,
    }


def _encode(value: Any) -> Any:
    """A parameter as JSON: an options object with its type; None for a generator, whose seed is unknown."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__, **{k: _encode(getattr(value, k)) for k in asdict(value)}}
    if isinstance(value, np.random.RandomState):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _decode(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    fields = {key: _decode(part) for key, part in value.items() if key != "type"}
    return OPTIONS[value["type"]](**fields)


def _read_header(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileNotFoundError(f"expected a folder that save() wrote, got {path.parent} without {path.name}.")
    try:
        header = json.loads(path.read_text())
    except ValueError as cause:
        raise ValueError(
            f"expected JSON, got a damaged or other file {path} ({cause}); save the model again."
        ) from cause
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ValueError(f"expected the JSON of a model that save() wrote, got other JSON in {path}.")
    if header["format_version"] > VERSION:
        got = header["format_version"]
        raise ValueError(f"expected a format up to {VERSION}, got format {got} in {path}; update gplens.")
    return header


def _read_tensors(path: Path, digest: str) -> dict[str, Tensor]:
    if not path.is_file():
        raise FileNotFoundError(f"expected {path.name} in {path.parent}, found none; copy the whole folder.")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"expected the SHA-256 that {JSON} gives for {path}, got another for its {len(content)} bytes: the file is "
            "damaged; save the model again."
        )
    try:
        return from_bytes(content)
    except SafetensorError as cause:
        raise ValueError(f"expected a safetensors file, got {path} ({cause}); save the model again.") from cause


def _fill(estimator: Any, header: dict[str, Any], tensors: dict[str, Tensor]) -> GPEstimator:
    """Set the fitted attributes from what the files hold."""
    estimator.n_features_in_ = header["features"]
    if header["feature_names"] is not None:
        estimator.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    if header["classes"] is not None:
        kind = header["classes"]["dtype"]
        estimator.classes_ = np.array(header["classes"]["labels"], dtype=object if kind == "|O" else kind)
    likelihood = _likelihood(header["likelihood"], tensors)
    model = _exact(header, tensors, likelihood) if "X" in tensors else _sparse(header, tensors)
    for module, prefix in ((model, "model."), (likelihood, "likelihood.")):
        state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
        module.load_state_dict(state)
        module.eval().requires_grad_(False)
    estimator._finish(Fit(model, likelihood, header["training"]), tensors["mean_input"])
    return estimator


def _likelihood(name: str, tensors: dict[str, Tensor]) -> gpytorch.likelihoods.Likelihood:
    counts = [len(tensor) for key, tensor in tensors.items() if key.endswith("variational_mean")]
    makers = {
        "GaussianLikelihood": lambda: GaussianLikelihood(noise_constraint=Positive()),
        "LogPoisson": LogPoisson,
        "SquaredScale": lambda: SquaredScale(0.0),
        "BernoulliLikelihood": BernoulliLikelihood,
        "Logistic": Logistic,
        "SoftmaxLikelihood": lambda: SoftmaxLikelihood(num_classes=counts[0], mixing_weights=False),
    }
    return makers[name]().double()


def _exact(header: dict[str, Any], tensors: dict[str, Tensor], likelihood: Any) -> Exact:
    kernel = kernel_of(header["kernel"], header["features"], None)
    return Exact(tensors["X"], tensors["y"], likelihood, kernel, prior_mean(None, 0.0)).double()


def _sparse(header: dict[str, Any], tensors: dict[str, Tensor]) -> Sparse:
    named = {name.rpartition(".")[2]: tensor for name, tensor in tensors.items()}
    a, Z = named["variational_mean"], named["inducing_points"]
    latents, kernels = (len(tensor) if tensor.ndim == axes else None for tensor, axes in ((a, 2), (Z, 3)))
    kernel = kernel_of(header["kernel"], header["features"], kernels)
    return Sparse(Z, kernel, prior_mean(latents, 0.0), latents=latents, jitter=header["jitter"]).double()
