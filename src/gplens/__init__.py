"""gplens: exact Integrated Gradients for Gaussian processes with any likelihood."""

from importlib.metadata import version as _version

from gplens import baselines, datasets, kernels, links, means, rules, targets
from gplens.explain import explain
from gplens.explanation import Explanation, Provenance
from gplens.likelihood import Likelihood
from gplens.posterior import Posterior
from gplens.process import Mix, Process, Stack
from gplens.quadratic import Quadratic
from gplens.uncertainty import Diagonal, Full, Samples

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
    "explain",
    "kernels",
    "links",
    "means",
    "rules",
    "targets",
]
