"""Numbers that users pass: of Python or numpy, or arrays and tensors without axes."""

from math import inf
from numbers import Integral, Real
from typing import Any

import numpy as np
from torch import Tensor


def as_int(value: Any) -> int | None:
    """A whole number as Python's int; None for anything else, such as True, 1.0 and "1"."""
    value = _plain(value)
    return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None


def as_float(value: Any) -> float | None:
    """A real number as Python's float; None for anything else, such as True and "1.0"."""
    number = _plain(value)
    if not isinstance(number, Real) or isinstance(number, bool):
        return None
    try:
        return float(number)
    except OverflowError:  # an int of more than 308 digits
        return inf if number > 0 else -inf  # pyright: ignore[reportOperatorIssue]


def _plain(value: Any) -> Any:
    """The number in an array, scalar or tensor without axes; any other value as it is."""
    return value.item() if isinstance(value, np.generic | np.ndarray | Tensor) and value.ndim == 0 else value
