"""BoTorch's kernels of categories and tasks, which join the translations of GPyTorch's."""

from botorch.models.kernels.categorical import CategoricalKernel
from botorch.models.kernels.positive_index import PositiveIndexKernel

from gplens.adapters.gpytorch.kernels import TRANSLATIONS, discrete


def register() -> None:
    """Make them known wherever a GPyTorch kernel is translated."""
    TRANSLATIONS.update({CategoricalKernel: discrete, PositiveIndexKernel: discrete})
