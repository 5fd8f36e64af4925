"""scikit-learn estimators on top of GPyTorch: from a table to a fitted model that can be explained and saved."""

try:
    from gplens.estimators.classification import GPClassifier
    from gplens.estimators.count_regression import GPCountRegressor
    from gplens.estimators.loading import load
    from gplens.estimators.regression import GPRegressor
    from gplens.estimators.training.options import Adam, Constant, Cosine, EarlyStopping, NaturalGradients, Training
    from gplens.estimators.variance_regression import GPVarianceRegressor
except ModuleNotFoundError as cause:
    if (cause.name or "").startswith("gplens"):
        raise
    raise ImportError(
        f"expected {cause.name} to be installed for gplens.estimators, got no such module. Install gplens with the "
        "extra [estimators]."
    ) from cause

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
