"""Classification."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, SupportsIndex, final, no_type_check

import numpy as np
import torch
from gpytorch.likelihoods import BernoulliLikelihood, SoftmaxLikelihood
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from torch import Tensor

import gplens
from gplens.estimators import fitting
from gplens.estimators.base import GPEstimator
from gplens.estimators.fitting import Problem
from gplens.estimators.likelihoods import Logistic
from gplens.estimators.prediction import BLOCK
from gplens.estimators.scaling import average, scaling_of
from gplens.estimators.training.options import Training
from gplens.estimators.training.start import Sites
from gplens.expectations.softmax.integral import softmax_moments
from gplens.links import Probit, Sigmoid
from gplens.paths.integrand import Rule
from gplens.targets import Target
from gplens.uncertainty import Uncertainty

LINKS = ("probit", "logistic", "softmax")


@final
class GPClassifier(ClassifierMixin, GPEstimator):
    """Two classes by probit or logistic, more by softmax, by sparse variational inference.

    Args:
        link: "probit", "logistic" or "softmax"; None is probit for two classes and softmax for more.
        shared: whether the classes share kernel and inducing points, which is faster by about their number.
        kernel, ard, inducing_points, inducing, scaling, training, random_state, progress: as in GPRegressor.
    """

    classes_: NDArray[Any]

    @no_type_check  # scikit-learn wants a constructor that takes anything; `fit` checks
    def __init__(
        self,
        kernel: str = "matern52",
        *,
        link: str | None = None,
        shared: bool = True,
        ard: bool = True,
        inducing_points: int = 128,
        inducing: str = "kmeans",
        scaling: str = "columns",
        training: Training | None = None,
        random_state: Any = None,
        progress: bool = True,
    ) -> None:
        self.kernel = kernel
        self.link = link
        self.shared = shared
        self.ard = ard
        self.inducing_points = inducing_points
        self.inducing = inducing
        self.scaling = scaling
        self.training = training
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any, *, checkpoint: str | Path | None = None) -> "GPClassifier":
        """Fit to labels of any kind."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, labels = np.unique(y, return_inverse=True)
        inputs, scaling = torch.from_numpy(np.array(X)), scaling_of(self.scaling, torch.from_numpy(np.array(X)))
        problem = self._problem(torch.from_numpy(labels.astype(np.float64)))
        design = self._design(shared=self.shared)
        model, likelihood, summary = fitting.fit_sparse(
            design, problem, scaling.apply(inputs), checkpoint, self.progress
        )
        own = fitting.in_own_units(model, self.kernel, scaling, latents=problem.latents)
        self._finish(own, likelihood, summary, average(inputs))
        return self

    def _problem(self, y: Float[Tensor, " n"]) -> Problem:
        count = len(self.classes_)
        if count < 2:
            raise ValueError(f"y has one class, {self.classes_[0]!r}; a classifier wants at least two.")
        link = self.link or ("probit" if count == 2 else "softmax")
        if link not in LINKS or (link != "softmax" and count > 2):
            raise ValueError(f"link={link!r} with {count} classes: wanted was softmax, or for two probit or logistic.")
        if link == "softmax":
            host = SoftmaxLikelihood(num_classes=count, mixing_weights=False)
            return Problem(y, host, lambda y: _softmax_sites(y, count), latents=count, variance=10.0)
        host = BernoulliLikelihood() if link == "probit" else Logistic()
        return Problem(y, host, lambda y: Sites((2 * y - 1)[None], torch.full_like(y, 0.5)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The expected probability of each class: the link averaged over the latent functions."""
        m, v = self._marginals(self._read(X))
        if isinstance(self.likelihood_, SoftmaxLikelihood):
            return torch.cat([_softmax(*rows) for rows in zip(m.split(BLOCK), v.split(BLOCK), strict=True)]).numpy()
        link = Probit() if isinstance(self.likelihood_, BernoulliLikelihood) else Sigmoid()
        p = link.moments(m[:, 0], v[:, 0]).value
        return torch.stack([1 - p, p], dim=1).numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(1)]

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log P(y|x) of each row."""
        column = np.searchsorted(self.classes_, np.asarray(y))
        return np.log(self.predict_proba(X)[np.arange(len(column)), column])

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
        """Of the probability of every class, named by its label; of the second class where there are two."""
        chosen = self._numbers(outputs)
        found = super().explain(
            X,
            baseline=baseline,
            target=target,
            outputs=chosen,
            rule=rule,
            tolerance=tolerance,
            uncertainty=uncertainty,
            groups=groups,
            memory=memory,
            dtype=dtype,
        )
        if found.output_names is None:
            return found
        which = range(len(self.classes_)) if chosen is None else chosen
        return replace(found, output_names=tuple(str(self.classes_[i]) for i in which))

    def _numbers(self, outputs: Any) -> list[int] | None:
        """Positions of classes that are given by their label or their position."""
        if outputs is None:
            return None
        asked = [outputs] if isinstance(outputs, SupportsIndex | str) else list(outputs)
        labels = {str(label): i for i, label in enumerate(self.classes_)}
        missing = [one for one in asked if isinstance(one, str) and one not in labels]
        if missing:
            raise ValueError(f"There is no class {missing[0]!r}; they are {list(labels)}.")
        return [labels[one] if isinstance(one, str) else int(one) for one in asked]


def _softmax_sites(y: Float[Tensor, " n"], count: int) -> Sites:
    """One-hot targets, four apart, with the precision of a label."""
    hot = torch.nn.functional.one_hot(y.long(), count).T.to(y.dtype)
    return Sites(4 * (hot - 1 / count), torch.full_like(y, 0.1))


def _softmax(m: Float[Tensor, "b c"], v: Float[Tensor, "b c"]) -> Float[Tensor, "b c"]:
    return softmax_moments(m, v).value
