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
EVERY_ESTIMATOR = [
    GPRegressor(random_state=0),
    GPRegressor(exact_rows=1, inducing_points=30, training=QUICK, random_state=0),
    GPCountRegressor(inducing_points=30, training=QUICK, random_state=0),
    GPVarianceRegressor(inducing_points=30, training=QUICK, random_state=0),
    GPClassifier(inducing_points=30, training=QUICK, random_state=0),
]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@parametrize_with_checks(EVERY_ESTIMATOR)
def test_sklearn_check(estimator: object, check: object) -> None:
    check(estimator)  # type: ignore[operator]
