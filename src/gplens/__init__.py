"""gplens: exact Integrated Gradients for Gaussian processes with any likelihood."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from gplens import baselines, columns, datasets, kernels, links, means, rules, targets
from gplens.adapters.reading import Reading, read
from gplens.explain import explain
from gplens.explanation import Explanation, Importance, Interrupted, Provenance, Spread, Support, SupportWarning
from gplens.explanation.provenance import VERSION as _VERSION
from gplens.likelihood import Likelihood
from gplens.lines.forms import Quadratic
from gplens.paths.hard_rows import ConvergenceWarning
from gplens.processes.functions import Functions
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed
from gplens.uncertainty import Diagonal, Full, Samples

if _TYPE_CHECKING:
    from gplens import batch, estimators, plots
    from gplens.interop.candidate_batches import explain_batch
    from gplens.verification import verify

__version__ = _VERSION

__all__ = [
    "ConvergenceWarning",
    "Diagonal",
    "Explanation",
    "Full",
    "Functions",
    "Importance",
    "Interrupted",
    "Likelihood",
    "Mix",
    "Posterior",
    "Process",
    "Provenance",
    "Quadratic",
    "Reading",
    "Samples",
    "Spread",
    "Stack",
    "Support",
    "SupportWarning",
    "Transformed",
    "baselines",
    "batch",
    "columns",
    "datasets",
    "estimators",
    "explain",
    "explain_batch",
    "kernels",
    "links",
    "means",
    "plots",
    "read",
    "rules",
    "targets",
    "verify",
]

_ON_FIRST_USE = ("ax", "batch", "baybe", "bofire", "captum", "estimators", "plots", "shap")


def __getattr__(name: str) -> _Any:
    """What needs other packages, loaded on first use."""
    if name == "explain_batch":
        return _import_module("gplens.interop.candidate_batches").explain_batch
    if name == "verify":
        return _import_module("gplens.verification").verify
    if name not in _ON_FIRST_USE:
        raise AttributeError(f"module 'gplens' has no attribute {name!r}")
    return _import_module(f"gplens.{name}")
