"""BoTorch: exact, variational and fully Bayesian models, lists of them, and acquisition functions, in raw units."""

from gplens.adapters.botorch import encodings
from gplens.adapters.botorch.acquisition_functions import recognise
from gplens.adapters.botorch.models import FAMILY

__all__ = ["FAMILY", "encodings", "recognise"]
