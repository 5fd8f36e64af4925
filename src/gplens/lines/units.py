"""Units in which squares neither vanish nor overflow, and quotients of small numbers."""

import torch
from torch import Tensor


def power_of_two(size: Tensor) -> Tensor:
    """The power of two nearest to a size, so that dividing by it is exact; one for a size of zero."""
    return torch.where(size > 0, torch.exp2(torch.log2(size).round()), 1)


def quotient(a: Tensor, b: Tensor) -> Tensor:
    """a / b with 0/0 = 0."""
    return torch.where(a == 0, 0, a / b)
