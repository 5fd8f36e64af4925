"""Numbers and texts in the form of the page: float64 in base64, and JSON that cannot end a script element."""

import json
from base64 import b64encode
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters in JSON that HTML or old parsers of JavaScript would interpret; the escapes mean the same."""


def floats(values: ArrayLike | Tensor) -> str:
    """Float64 numbers, little-endian, row by row, in base64."""
    array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
    return b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes()).decode()


def triangle(A: Tensor) -> str:
    """The lower triangle of a symmetric matrix, row by row."""
    array = A.numpy()
    return floats(array[np.tril_indices(len(array))])


def to_script(content: Any) -> str:
    """JSON for a script element: no name or text of a user can close the element or open a comment."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(str.maketrans(ESCAPED))


def finite(number: float | int | Tensor) -> float | None:
    """A number; None if it is infinite or NaN, which JSON does not have."""
    value = float(number)
    return value if isfinite(value) else None
