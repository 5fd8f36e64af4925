"""scikit-learn estimators on top of GPyTorch: from a table to a fitted model that can be explained and saved."""

from gplens.adapters.hosts import Extra

with Extra("estimators", "gplens.estimators"):
    from gplens.estimators.classification import GPClassifier
    from gplens.estimators.count_regression import GPCountRegressor
    from gplens.estimators.loading import load
    from gplens.estimators.regression import GPRegressor
    from gplens.estimators.training.options import Adam, Constant, Cosine, EarlyStopping, NaturalGradients, Training
    from gplens.estimators.variance_regression import GPVarianceRegressor

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
