"""GPyTorch: exact and variational models, their kernels, means and likelihoods."""

from gplens.adapters.gpytorch import categorical, exact, gaussian, likelihoods, variational

__all__ = ["categorical", "exact", "gaussian", "likelihoods", "variational"]
