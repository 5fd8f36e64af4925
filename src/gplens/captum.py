"""The public name of gplens.interop.captum_attribution."""

from gplens.interop.captum_attribution import GaussianProcessIntegratedGradients

__all__ = ["GaussianProcessIntegratedGradients"]
