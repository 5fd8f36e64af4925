"""gplens: exact Integrated Gradients for Gaussian processes with any likelihood."""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from types import ModuleType as _ModuleType

from gplens import baselines, datasets, kernels, links, means, rules, targets
from gplens.explain import explain
from gplens.explanation import Explanation, Provenance
from gplens.functions import Functions
from gplens.likelihood import Likelihood
from gplens.posterior import Posterior
from gplens.process import Mix, Process, Stack
from gplens.quadratic import Quadratic
from gplens.transformed import Transformed
from gplens.uncertainty import Diagonal, Full, Samples

__version__ = _version("gplens")

__all__ = [
    "Diagonal",
    "Explanation",
    "Full",
    "Functions",
    "Likelihood",
    "Mix",
    "Posterior",
    "Process",
    "Provenance",
    "Quadratic",
    "Samples",
    "Stack",
    "Transformed",
    "baselines",
    "datasets",
    "explain",
    "kernels",
    "links",
    "means",
    "rules",
    "targets",
]


def __getattr__(name: str) -> _ModuleType:
    """gplens.captum and gplens.shap, which load the packages that they are named after when they are first used."""
    if name not in ("captum", "shap"):
        raise AttributeError(f"module 'gplens' has no attribute {name!r}")
    return _import_module(f"gplens.{name}")
