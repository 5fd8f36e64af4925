"""BoTorch: exact, variational and fully Bayesian models, lists of them, in raw inputs and raw outcomes."""

from gplens.adapters.botorch import encodings
from gplens.adapters.botorch.models import FAMILY

__all__ = ["FAMILY", "encodings"]
