"""GPyTorch: exact and variational models, their kernels, means and likelihoods."""

from gplens.adapters.gpytorch import exact, gaussian, likelihoods, variational

__all__ = ["exact", "gaussian", "likelihoods", "variational"]
