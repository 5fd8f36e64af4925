"""What all estimators share: the table, the fit, the marginals, explanations and files."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, SupportsIndex

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

import gplens
from gplens.adapters.estimators import FittedEstimator
from gplens.estimators.fitting import Design
from gplens.estimators.prediction import marginals
from gplens.estimators.training.options import Training
from gplens.paths.integrand import Rule
from gplens.targets import Target
from gplens.uncertainty import Uncertainty


class GPEstimator(FittedEstimator, BaseEstimator):
    """A GPyTorch model behind scikit-learn's interface, in float64 and in the units of the user's table.

    Fitted: `model_` and `likelihood_` (GPyTorch), `mean_input_` (the average row, for a baseline), `training_summary_`,
    `n_features_in_`, `feature_names_in_`.
    """

    kernel: str
    ard: bool
    inducing_points: int
    inducing: str
    scaling: str
    training: Training | None
    random_state: Any
    progress: bool
    model_: Any
    likelihood_: Any
    mean_input_: NDArray[np.float64]
    training_summary_: dict[str, Any]
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    @abstractmethod
    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPEstimator":
        """Fit to a table and its targets; with a folder for checkpoints, from where a killed fit stopped."""

    @abstractmethod
    def predict(self, X: Any) -> Any:
        """A prediction for each row."""

    def explain(
        self,
        X: Any,
        *,
        baseline: Any = None,
        target: Target | None = None,
        outputs: SupportsIndex | str | Sequence[SupportsIndex | str] | None = None,
        rule: Rule | None = None,
        tolerance: float | None = None,
        uncertainty: Uncertainty | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        memory: int | None = None,
        dtype: torch.dtype = torch.float64,
    ) -> gplens.Explanation:
        """gplens.explain of this model, in the units and columns of the table that it was fitted to."""
        check_is_fitted(self)
        validate_data(self, X, reset=False)
        names = getattr(self, "feature_names_in_", None)
        return gplens.explain(
            self,
            X,
            baseline=baseline,
            target=target,
            outputs=outputs,
            rule=rule,
            tolerance=tolerance,
            uncertainty=uncertainty,
            groups=groups,
            feature_names=None if names is None else names.tolist(),
            memory=memory,
            dtype=dtype,
        )

    def save(self, folder: str | Path) -> None:
        """Write the fitted model: tensors in the safetensors format, everything else as readable JSON, atomically."""
        from gplens.estimators.files import save

        save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> "GPEstimator":
        """Read what `save` wrote; it predicts and explains bit for bit as what was saved."""
        from gplens.estimators.files import load

        found = load(Path(folder))
        if not isinstance(found, cls):
            raise ValueError(f"{folder} holds a {type(found).__name__}, not a {cls.__name__}.")
        return found

    def _design(self, *, shared: bool = True) -> Design:
        training = Training() if self.training is None else self.training
        if not isinstance(training, Training):
            raise TypeError(f"training={training!r}: wanted was gplens.estimators.Training(...) or None.")
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return Design(self.kernel, self.ard, self.inducing_points, self.inducing, shared, training, seed)

    def _read(self, X: Any) -> Float[Tensor, "b d"]:
        """A table like the one that the model was fitted to."""
        check_is_fitted(self)
        return torch.from_numpy(np.array(validate_data(self, X, reset=False, dtype=np.float64)))

    def _finish(self, model: Any, likelihood: Any, summary: dict[str, Any], mean: Float[Tensor, " d"]) -> None:
        """Keep the fitted model."""
        self.model_, self.likelihood_, self.training_summary_ = model, likelihood, summary
        self.mean_input_ = mean.numpy()

    def _marginals(self, X: Float[Tensor, "b d"]) -> tuple[Float[Tensor, "b c"], Float[Tensor, "b c"]]:
        """m and v of the latent functions."""
        return marginals(self.model_, X)
