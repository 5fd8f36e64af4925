"""scikit-learn: Gaussian process regressors and classifiers, also inside pipelines, searches and other wrappers."""

from jaxtyping import Float
from sklearn.base import BaseEstimator
from torch import Tensor

from gplens.adapters.reading import Reading, read_model
from gplens.adapters.sklearn import classifier, pipeline, regressor

__all__ = ["classifier", "pipeline", "regressor"]


@read_model.register
def _(model: BaseEstimator, points: Float[Tensor, "k d"] | None) -> Reading:
    raise TypeError(
        "expected a fitted GaussianProcessRegressor or GaussianProcessClassifier, or a Pipeline, GridSearchCV or "
        f"TransformedTargetRegressor of one, got {type(model).__name__}; fit one of these."
    )
