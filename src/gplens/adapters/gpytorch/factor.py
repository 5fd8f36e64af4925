"""The host's Cholesky factorisation, with its jitter, reproduced and reported."""

import warnings

import torch
from jaxtyping import Float
from linear_operator.utils.cholesky import psd_safe_cholesky
from linear_operator.utils.errors import NanError, NotPSDError
from linear_operator.utils.warnings import NumericalWarning
from torch import Tensor


def cholesky(K: Float[Tensor, "n n"], what: str) -> tuple[Float[Tensor, "n n"], tuple[str, ...]]:
    """L with LL' = K, as the host takes it: where K is not positive definite it adds jitter, and that is noted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NumericalWarning)
        try:
            L = psd_safe_cholesky(K)
        except (NotPSDError, NanError) as cause:
            raise ArithmeticError(
                f"{what} of {len(K)} points is not positive definite, not even with the host's jitter "
                f"({cause}). Remove duplicated points, or fit with more noise or jitter."
            ) from cause
    added = [warning for warning in caught if issubclass(warning.category, NumericalWarning)]
    return L, tuple(f"{what} was not positive definite; as the host does: {warning.message}" for warning in added)


def inverse(L: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """L^-1."""
    return torch.linalg.solve_triangular(L, torch.eye(len(L), dtype=L.dtype), upper=False)


def without_warnings_of_jitter() -> warnings.catch_warnings:
    """For predictions of the host at points that may coincide, where it factorises in passing what nobody uses."""
    return warnings.catch_warnings(action="ignore", category=NumericalWarning)
