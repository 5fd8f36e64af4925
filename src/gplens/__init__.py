"""gplens: exact Integrated Gradients for Gaussian processes with any likelihood."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from gplens import baselines, datasets, kernels, links, means, rules, targets
from gplens.explain import explain
from gplens.explanation import Explanation, Provenance
from gplens.likelihood import Likelihood
from gplens.posterior import Posterior
from gplens.process import Mix, Process, Stack
from gplens.quadratic import Quadratic
from gplens.uncertainty import Diagonal, Full, Samples

if _TYPE_CHECKING:
    from gplens import estimators

__version__ = _version("gplens")

__all__ = [
    "Diagonal",
    "Explanation",
    "Full",
    "Likelihood",
    "Mix",
    "Posterior",
    "Process",
    "Provenance",
    "Quadratic",
    "Samples",
    "Stack",
    "baselines",
    "datasets",
    "estimators",
    "explain",
    "kernels",
    "links",
    "means",
    "rules",
    "targets",
]


def __getattr__(name: str) -> _Any:
    """gplens.estimators, when it is first asked for: it brings scikit-learn and GPyTorch with it."""
    if name != "estimators":
        raise AttributeError(f"module 'gplens' has no attribute {name!r}")
    try:
        return _import_module("gplens.estimators")
    except ModuleNotFoundError as cause:
        raise ImportError(f'gplens.estimators needs {cause.name}: pip install "gplens[estimators]".') from cause
