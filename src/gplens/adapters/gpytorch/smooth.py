"""torch's softplus is cut off at 20, where it jumps by 2e-9; quadrature wants the function that is meant."""

from collections.abc import Callable
from typing import Any, final

import torch
from torch.nn.functional import softplus
from torch.overrides import TorchFunctionMode


@final
class WithoutThreshold(TorchFunctionMode):
    """Inside `with WithoutThreshold():` every softplus is log(1 + e^(beta x)) / beta for all x."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Pass every other function on as it is."""
        kwargs = kwargs or {}
        return _softplus(*args, **kwargs) if func is softplus else func(*args, **kwargs)


def _softplus(input: torch.Tensor, beta: float = 1.0, threshold: float = 20.0) -> torch.Tensor:
    return torch.logaddexp(beta * input, torch.zeros_like(input)) / beta
