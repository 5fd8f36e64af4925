"""A fitted estimator as a folder: tensors in the safetensors format beside a readable JSON file. No pickle."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gpytorch.likelihoods import FixedNoiseGaussianLikelihood
from safetensors.torch import save as to_bytes
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gplens.baselines import Inputs
from gplens.columns.planning import to_json
from gplens.estimators.base import GPEstimator
from gplens.estimators.gp_models import Exact, profile_name
from gplens.explanation.storage import BLANK, with_checksum, write

FORMAT = "gplens estimator"
VERSION = 2
"""The JSON of version 1 has no checksum. Its folders are read, with a warning."""
JSON = "model.json"


def save(estimator: GPEstimator, folder: Path) -> None:
    """Write the tensors first, named by their hash, then the JSON that names them.

    A crash leaves the old model or the new one. The tensors of an older model in the same folder are removed last.
    """
    check_is_fitted(estimator)
    content = to_bytes(_tensors(estimator))
    digest = hashlib.sha256(content).hexdigest()
    name = f"{digest[:16]}.safetensors"
    header = _json(_header(estimator, name, digest))
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"expected the name of a folder, got {folder}, which is a file. Choose another name.")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / name, content)
    write(folder / JSON, header)
    for old in folder.glob("*.safetensors"):
        if old.name != name:
            old.unlink()


def _tensors(estimator: GPEstimator) -> dict[str, Tensor]:
    tensors = {f"model.{name}": tensor for name, tensor in estimator.model_.state_dict().items()}
    tensors |= {f"likelihood.{name}": tensor for name, tensor in estimator.likelihood_.state_dict().items()}
    model: Any = estimator.model_
    if model.__class__ is Exact:
        tensors |= {"X": model.train_inputs[0], "y": model.train_targets}
        if isinstance(model.likelihood, FixedNoiseGaussianLikelihood):
            tensors["noise"] = model.likelihood.noise
    mean = estimator.mean_input_
    if (background := estimator.default_baseline) is not None and background.weights is not None:
        tensors |= {"background": background.values, "background_weights": background.weights}
    tensors["mean_input"] = mean.values[0] if isinstance(mean, Inputs) else torch.from_numpy(mean)
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


def _header(estimator: GPEstimator, name: str, digest: str) -> dict[str, Any]:
    packages = ("gplens", "torch", "gpytorch", "scikit-learn", "safetensors")
    names, classes = getattr(estimator, "feature_names_in_", None), getattr(estimator, "classes_", None)
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "checksum": BLANK,
        "versions": {package: version(package) for package in packages},
        "estimator": type(estimator).__name__,
        "parameters": {key: _encode(value) for key, value in estimator.get_params(deep=False).items()},
        "likelihood": type(estimator.likelihood_).__name__,
        "kernel": profile_name(estimator.model_.covar_module.base_kernel),
        "jitter": None if isinstance(estimator.model_, Exact) else estimator.model_.strategy.jitter_val,
        "features": estimator.n_features_in_,
        "columns": to_json(estimator.columns_),
        "feature_names": None if names is None else names.tolist(),
        "classes": None if classes is None else {"dtype": classes.dtype.str, "labels": classes.tolist()},
        "training": estimator.training_summary_,
        "tensors": name,
        "sha256": digest,
    }


def _encode(value: Any) -> Any:
    """A parameter as JSON: an options object with its type; None for a generator, whose seed is unknown."""
    if isinstance(value, Mapping):
        return {"type": "columns", "kinds": [[key, to_json(kind)] for key, kind in value.items()]}
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__, **{k: _encode(getattr(value, k)) for k in asdict(value)}}
    if isinstance(value, np.random.RandomState):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _json(header: dict[str, Any]) -> bytes:
    """The header with its checksum."""
    try:
        return with_checksum(json.dumps(header, indent=2, allow_nan=False).encode())
    except (TypeError, ValueError) as cause:
        raise ValueError(
            f"expected parameters and labels that JSON can hold (numbers, texts, True, False), got others ({cause})."
        ) from cause
