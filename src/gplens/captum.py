"""The public name of gplens.interop.captum."""

from gplens.interop.captum import GaussianProcessIntegratedGradients

__all__ = ["GaussianProcessIntegratedGradients"]
