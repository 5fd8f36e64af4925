"""Acquisition functions a(x) = psi(m(x), v(x)) of Bayesian optimisation, with their partial derivatives (MATH 11)."""

from gplens.expectations.acquisition.acquisition import Acquisition, Opaque
from gplens.expectations.acquisition.criterion import Criterion, Exponential, MeanAndDeviation
from gplens.expectations.acquisition.feasibility import LogFeasibility
from gplens.expectations.acquisition.hypervolume import HypervolumeImprovement
from gplens.expectations.acquisition.improvement import LogImprovement, LogImprovementProbability
from gplens.expectations.acquisition.sampled_improvement import SampledImprovement

__all__ = [
    "Acquisition",
    "Criterion",
    "Exponential",
    "HypervolumeImprovement",
    "LogFeasibility",
    "LogImprovement",
    "LogImprovementProbability",
    "MeanAndDeviation",
    "Opaque",
    "SampledImprovement",
]
