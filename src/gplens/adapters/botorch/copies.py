"""Copies of BoTorch's models, which keep training inputs as they came while training, and transformed ones after."""

from typing import TypeVar

import torch
from botorch.models.model import Model

from gplens.adapters.gpytorch.copies import frozen_copy, keep_jitter

M = TypeVar("M", bound=Model)


def double_copy(model: M) -> M:
    """A copy in evaluation mode, whose training inputs were transformed in float64 as well."""
    copy = frozen_copy(model)
    for part in copy.modules():
        if isinstance(part, Model):
            part._revert_to_original_inputs()
    copy = copy.to(torch.float64).eval()
    keep_jitter(model, copy)
    return copy
