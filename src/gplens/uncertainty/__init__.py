"""The posterior distribution of an attribution: variances, covariances and draws (MATH 5)."""

from gplens.uncertainty.requests import Diagonal, Full, Samples, Uncertainty

__all__ = ["Diagonal", "Full", "Samples", "Uncertainty"]
