"""The base class of all estimators: the fitted model, predictions, explanations and files."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.reading import read_host_likelihood
from gplens.baselines import Inputs
from gplens.columns.column_plan import ColumnPlan
from gplens.estimators.estimator_card import Displayed
from gplens.estimators.estimator_page import WithPage
from gplens.estimators.evaluation import evaluate, marginals, read_process
from gplens.estimators.explaining import Explaining
from gplens.estimators.fitting import Fit, Problem
from gplens.estimators.gp_models import support_points
from gplens.estimators.linear_rivals import warn_of
from gplens.estimators.parameters import Design, SharedParameters
from gplens.estimators.representatives import representatives
from gplens.estimators.scaling import Scaling, average, scaling_of
from gplens.estimators.training_tables import TrainingTable, read_rows
from gplens.processes.process import Process

COMPARED = 8  # support points at which `posterior_` is compared with GPyTorch's own prediction


class GPEstimator(Explaining, SharedParameters, Displayed, WithPage, BaseEstimator):  # pyright: ignore[reportIncompatibleVariableOverride, reportIncompatibleMethodOverride]
    """A GPyTorch model with scikit-learn's interface, in float64 and in the units of the table.

    Fitted attributes: `model_` and `likelihood_` (GPyTorch), `posterior_` (the gplens process that `predict` and
    `explain` evaluate), `columns_` (how each column is encoded), `background_` (representative training rows, the
    default baseline), `mean_input_` (the average row, for another baseline), `training_summary_`,
    `n_features_in_`, `feature_names_in_`.
    """

    model_: Any
    likelihood_: Any
    posterior_: Process
    columns_: ColumnPlan
    mean_input_: NDArray[np.float64] | Inputs
    """A baseline: the average of the training rows, in the columns of the table if all are plain numbers."""
    training_summary_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, budget: Any = None, checkpoint: str | Path | None = None
    ) -> "GPEstimator":
        """Fit to a table and its targets.

        Args:
            X: a frame or an array with a row for each target; docs/ESTIMATORS.md says what columns may hold.
            y: a target for each row.
            sample_weight: how often each row counts.
            budget: seconds, after which the fit ends with the best model so far; None is no limit.
            checkpoint: a folder from which a fit that was killed resumes.
        """

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """One prediction for each row."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of the classes of a classifier; None for a regressor."""
        return None

    def save(self, folder: str | Path) -> None:
        """Write the fitted model to a folder, atomically: tensors in the safetensors format, all else as JSON.

        Args:
            folder: made if it does not exist; a model in it is replaced.

        Raises:
            NotFittedError: before `fit`.
            NotADirectoryError: if there is a file of this name.

        Example:
            >>> from pathlib import Path
            >>> GPRegressor.load(saved).save(Path(saved) / "copy")
            >>> (Path(saved) / "copy" / "model.json").exists()
            True
        """
        from gplens.estimators.saving import save

        save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> "GPEstimator":
        """Read a folder that `save` wrote. The model predicts and explains bit for bit as the saved one.

        Args:
            folder: that of `save`.

        Raises:
            FileNotFoundError, ValueError: the folder is incomplete, damaged, or holds another kind of estimator.

        Example:
            >>> GPRegressor.load(saved).predict(frame).shape
            (5,)
        """
        from gplens.estimators.loading import load

        estimator = load(Path(folder))
        if not isinstance(estimator, cls):
            raise ValueError(f"expected a {cls.__name__}, got a {type(estimator).__name__} in {folder}.")
        return estimator

    def _design(self, table: TrainingTable, *, shared: bool = True) -> tuple[Design, Scaling]:
        """The choices of a fit, and the scaling of its inputs."""
        return Design.of(self, table.plan.sharing, shared=shared), self._scaling(table)

    def _scaling(self, table: TrainingTable) -> Scaling:
        return scaling_of(self.scaling, table.X, table.plan.sharing, table.weights, table.plan.inputs)

    def _pose(self, table: TrainingTable) -> Problem:
        """The targets of a table in the units of training, with their likelihood."""
        raise TypeError(
            f"expected a GPRegressor, GPCountRegressor or GPClassifier, got a {type(self).__name__}; use its fit()."
        )

    def _numbers(self, y: NDArray[Any]) -> NDArray[np.float64]:
        """Targets as numbers, before shift and scale; NaN for a label that `_pose` did not see."""
        return np.asarray(y, dtype=np.float64)

    def _finish_fit(self, fit: Fit, table: TrainingTable) -> None:
        """Set the fitted attributes, and warn if the fit was interrupted or a linear model predicts better."""
        background = representatives(table.X, self._scaling(table), table.weights, fit.summary["seed"])
        self._finish(fit, table.plan, average(table.X, table.weights), background)
        warn_of(fit.summary)

    def _finish(self, fit: Fit, plan: ColumnPlan, mean: Float[Tensor, " e"], background: Inputs | None) -> None:
        """Set the fitted attributes, at the end of `fit` and of `load`."""
        self.background_ = background
        self.model_, self.likelihood_, self.training_summary_ = fit.model, fit.likelihood, fit.summary
        self.columns_ = plan
        self.mean_input_ = mean.numpy() if plan.plain else Inputs(mean[None], "the average of the training rows")
        points = [mean[None], support_points(self.model_)[:COMPARED]]
        self.posterior_ = read_process(self.model_, torch.cat(points))

    @property
    def encoder(self) -> Encoder | None:
        """How tables become inputs of the model; None before `fit`, and if all columns are plain numbers."""
        plan = getattr(self, "columns_", None)
        return None if plan is None or plan.plain else plan

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # a missing number is the median, and an input says that it is missing
        return tags

    def _read(self, X: Any) -> Float[Tensor, "b e"]:
        """Rows of a table with the columns that the model was fitted to, as inputs of the model."""
        check_is_fitted(self)
        plan = self.columns_
        return torch.from_numpy(plan.encode(plan.aligned(read_rows(self, X, reset=False), "X")))

    def _mean_and_deviation(self, X: Any, return_std: bool) -> Any:
        """E y of each row; and, if requested, the square root of Var y."""
        rows, observation = self._read(X), read_host_likelihood(self.likelihood_)
        if not return_std:
            return evaluate(self.posterior_, [observation.response], rows)[0][:, 0].numpy()
        total_variance = observation.total_variance()
        assert total_variance is not None
        mean, variance = evaluate(self.posterior_, [observation.response, total_variance], rows)
        return mean[:, 0].numpy(), variance[:, 0].sqrt().numpy()

    def _marginals(self, X: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b c"], Float[Tensor, "b c"]]:
        return marginals(self.posterior_, X)
