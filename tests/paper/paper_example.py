"""The example behind every misprint: five observations, two features, one to three latent functions.

Three parties compute on these numbers and share no code:

- `paper_symbols` writes the paper's formulas down, as printed and as corrected (numpy);
- `paper_oracle` knows what is true: exact GP regression, autograd, Gauss-Hermite (torch);
- `paper_gplens` asks gplens.

The `damage` of a comparison is the number that docs/PAPER.md quotes.
"""

import numpy as np
import pytest

Z = np.array([[-1.2, 0.3], [-0.4, -0.9], [0.2, 0.8], [0.9, -0.2], [1.5, 1.1]])
Y = np.array([[1.9, -1.4, 2.2, 0.8, -1.1], [-0.7, 1.6, -1.2, 1.5, 0.4], [0.3, 0.9, -0.6, -1.8, 1.7]])
N = np.array([[0.3, 0.8, 1.5, 0.5, 1.0], [0.6, 0.4, 0.9, 1.2, 0.7], [1.1, 0.5, 0.4, 0.8, 1.4]])
"""Observations and noise variances, a row for each latent function."""
THETA, LENGTH = 1.3, 1.1
"""Variance and lengthscale of the squared exponential kernel."""
X, X0 = np.array([0.5, -0.6]), np.array([-0.9, 0.9])
"""The input that is explained, and its baseline."""
C = 3
"""Latent functions, and so classes."""


def relative_error(value: np.ndarray, truth: np.ndarray) -> float:
    """The largest error, in units of the largest entry."""
    return float(np.max(np.abs(value - truth)) / np.max(np.abs(truth)))


def assert_true(value: np.ndarray, truth: np.ndarray) -> None:
    """Equal to 1e-9 of the largest entry."""
    assert np.shape(value) == np.shape(truth)
    assert relative_error(value, truth) < 1e-9


def compare(truth: np.ndarray, *, right: np.ndarray, gplens: np.ndarray, printed: np.ndarray, damage: float) -> None:
    """The corrected formula and gplens have the truth; the printed formula misses it by `damage`, relative."""
    assert_true(right, truth)
    assert_true(gplens, truth)
    assert_wrong(printed, truth, damage)


def assert_wrong(printed: np.ndarray, truth: np.ndarray, damage: float) -> None:
    """The printed formula misses the truth by `damage`, relative to the largest entry."""
    assert relative_error(printed, truth) > 1e-3
    assert relative_error(printed, truth) == pytest.approx(damage, rel=0.02)
