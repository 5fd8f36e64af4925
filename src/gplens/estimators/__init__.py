"""scikit-learn estimators over GPyTorch: from a table to a fitted, saved, explainable model."""

from gplens.estimators.classifier import GPClassifier
from gplens.estimators.count import GPCountRegressor
from gplens.estimators.files import load
from gplens.estimators.regressor import GPRegressor
from gplens.estimators.training.options import Adam, Constant, Cosine, EarlyStopping, NaturalGradients, Training
from gplens.estimators.variance import GPVarianceRegressor

__all__ = [
    "Adam",
    "Constant",
    "Cosine",
    "EarlyStopping",
    "GPClassifier",
    "GPCountRegressor",
    "GPRegressor",
    "GPVarianceRegressor",
    "NaturalGradients",
    "Training",
    "load",
]
