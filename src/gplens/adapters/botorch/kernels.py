"""BoTorch's kernels of categories and tasks, which join the translations of GPyTorch's."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from botorch.models.kernels.categorical import CategoricalKernel
from botorch.models.kernels.positive_index import PositiveIndexKernel
from gpytorch.kernels import IndexKernel
from jaxtyping import Float
from torch import Tensor

from gplens import kernels
from gplens.adapters.gpytorch.kernels import TRANSLATIONS


def _discrete(kernel: Any, index: int, features: int) -> kernels.Kernel:
    """The host's own values: exact equality of names has no formula to be had."""
    own = deepcopy(kernel[index] if len(kernel.batch_shape) else kernel)
    own.active_dims = None  # its columns are selected before it is asked

    def pairs(X: Float[Tensor, "b d"], Z: Float[Tensor, "n d"]) -> Float[Tensor, "b n"]:
        return own(X, Z).to_dense()

    def variance(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return torch.as_tensor(own(X, diag=True))

    return kernels.Discrete(pairs, variance, type(kernel).__name__)


DISCRETE: tuple[type, ...] = (CategoricalKernel, PositiveIndexKernel, IndexKernel)


def register() -> None:
    """Make them known wherever a GPyTorch kernel is translated."""
    rule: Callable[[Any, int, int], kernels.Kernel] = _discrete
    TRANSLATIONS.update(dict.fromkeys(DISCRETE, rule))
