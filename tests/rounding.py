"""Tolerances in units of rounding, for numbers that agree in exact arithmetic and not bit for bit.

Processors and libraries round sums, products with a matrix and elementary functions differently. A comparison therefore
says how many roundings lie between two numbers and how large the terms were that were rounded.
"""

import torch
from torch import Tensor

EPS = torch.finfo(torch.float64).eps


def assert_rounded(actual: Tensor, expected: Tensor, *, roundings: float, size: Tensor | float = 1.0) -> None:
    """|actual - expected| <= roundings * eps * size, with `size` that of the largest term behind each number."""
    error = (actual - expected).abs()
    bound = roundings * EPS * torch.as_tensor(size, dtype=error.dtype)
    assert bool((error <= bound).all()), f"{float((error / bound).max()) * roundings:.3g} roundings of the size given"
