"""scikit-learn's own checks, on all four estimators; none is skipped or expected to fail."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from gplens.estimators import (
    EarlyStopping,
    GPClassifier,
    GPCountRegressor,
    GPRegressor,
    GPVarianceRegressor,
    Training,
)

QUICK = Training(steps=40, stopping=EarlyStopping(tolerance=1e-2, every=10, patience=1))
"""Enough for the checks, which fit some hundred times."""
QUICKLY_CHECKED = [GPRegressor(random_state=0)]
SLOWLY_CHECKED = [
    GPClassifier(inducing_points=30, training=QUICK, random_state=0),
    GPRegressor(exact_rows=1, inducing_points=30, training=QUICK, random_state=0),
    GPCountRegressor(inducing_points=30, training=QUICK, random_state=0),
    GPVarianceRegressor(inducing_points=30, training=QUICK, random_state=0),
]
"""These share all but their likelihood with the ones above."""


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@parametrize_with_checks(QUICKLY_CHECKED)
def test_sklearn_check(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.filterwarnings("ignore:expected whole counts:UserWarning")
@parametrize_with_checks(SLOWLY_CHECKED)
def test_sklearn_check_of_other_likelihoods(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]
