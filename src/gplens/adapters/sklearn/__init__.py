"""scikit-learn: Gaussian process regressors and classifiers, and pipelines that end in one."""

from dataclasses import replace

from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process._gpc import _BinaryGaussianProcessClassifierLaplace
from sklearn.pipeline import Pipeline
from torch import Tensor

from gplens.adapters.reading import Adapted, adapt
from gplens.adapters.sklearn.classifier import read_binary, read_classifier
from gplens.adapters.sklearn.pipeline import read_steps
from gplens.adapters.sklearn.printed import columns_of
from gplens.adapters.sklearn.regressor import read_regressor
from gplens.processes.transformed import Transformed


@adapt.register
def _(model: GaussianProcessRegressor, points: Float[Tensor, "k d"]) -> Adapted:
    return replace(read_regressor(model, points), columns=columns_of(model))


@adapt.register
def _(model: GaussianProcessClassifier, points: Float[Tensor, "k d"]) -> Adapted:
    return replace(read_classifier(model, points), columns=columns_of(model))


@adapt.register
def _(model: _BinaryGaussianProcessClassifierLaplace, points: Float[Tensor, "k d"]) -> Adapted:
    return read_binary(model, points)


@adapt.register
def _(model: Pipeline, points: Float[Tensor, "k d"]) -> Adapted:
    """The last step, in the inputs of the first one."""
    steps = read_steps(model, points)
    last = adapt(model.steps[-1][1], steps(points))
    process = Transformed(last.process, *steps)
    return replace(last, process=process, model=f"Pipeline of {last.model}", columns=columns_of(model))


@adapt.register
def _(model: BaseEstimator, points: Float[Tensor, "k d"]) -> Adapted:
    raise TypeError(
        f"gplens does not know how to read a {type(model).__name__}; wanted was a fitted GaussianProcessRegressor or "
        "GaussianProcessClassifier, or a Pipeline that ends in one."
    )
