"""Classification."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import torch
from gpytorch.likelihoods import BernoulliLikelihood, SoftmaxLikelihood
from jaxtyping import Float
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gplens.adapters.numbers import as_int
from gplens.adapters.reading import read_host_likelihood
from gplens.estimators.base import GPEstimator
from gplens.estimators.evaluation import evaluate
from gplens.estimators.fitting import Problem, Settings
from gplens.estimators.own_likelihoods import Logistic
from gplens.estimators.quasi_newton import fit_likelihood
from gplens.estimators.training.q_of_u import Sites
from gplens.estimators.training_tables import TrainingTable, check_labels, read_training

LINKS = ("probit", "logistic", "softmax")


@final
@dataclass(eq=False, repr=False)
class GPClassifier(ClassifierMixin, GPEstimator):
    """Sparse variational classification: probit or logistic for two classes, softmax for more.

    Explanations are of the probability of each class; with probit or logistic, of the second class, `classes_[1]`.
    Fitted attribute in addition to those of GPEstimator: `classes_`, the labels.

    Args:
        kernel, ard, inducing_points, inducing, scaling, columns, training, random_state, progress: as in GPRegressor.
        link: "probit", "logistic" or "softmax"; None is probit for two classes and softmax for more.
        shared: whether classes share kernel and inducing points, which is faster by about their number.

    Example:
        >>> from gplens.estimators import GPClassifier, Training
        >>> model = GPClassifier(training=Training(steps=5), random_state=0, progress=False)
        >>> model = model.fit(X.numpy(), ["low", "low", "high", "high", "low"])
        >>> model.predict(X.numpy()[:1]).tolist()
        ['low']
        >>> model.explain(X.numpy()[:1]).values.shape
        torch.Size([1, 2])
    """

    _: KW_ONLY
    link: str | None = None
    shared: bool = True

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, budget: Any = None, checkpoint: str | Path | None = None
    ) -> "GPClassifier":
        """Fit to labels of any kind. X, y, sample_weight, budget and checkpoint are those of `GPRegressor.fit`.

        Raises:
            ValueError: if there is one class only, or labels look like numbers to predict.
        """
        table = read_training(self, X, y, sample_weight, numeric=False)
        problem, (design, scaling) = self._pose(table), self._design(table, shared=self.shared)
        fit = fit_likelihood(design, problem, table.X, scaling, Settings.of(budget, checkpoint, self.progress))
        self._finish_fit(fit, table)
        return self

    def _pose(self, table: TrainingTable) -> Problem:
        check_labels(table.y)
        check_classification_targets(table.y)
        self.classes_, labels = np.unique(table.y, return_inverse=True)
        return replace(self._problem(torch.from_numpy(labels.astype(np.float64))), weights=table.weights)

    def _numbers(self, y: NDArray[Any]) -> NDArray[np.float64]:
        places = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        return np.where(self.classes_[places] == y, places, np.nan)

    def _problem(self, y: Float[Tensor, " n"]) -> Problem:
        count = len(self.classes_)
        if count < 2:
            raise ValueError(f"expected y with at least two classes, got one class, {self.classes_[0]}, in all rows.")
        link = ("probit" if count == 2 else "softmax") if self.link is None else self.link
        if link not in LINKS or (link != "softmax" and count > 2):
            raise ValueError(
                f"link must be 'softmax', or for two classes 'probit' or 'logistic', got link={link!r} with {count} "
                "classes."
            )
        if link == "softmax":
            softmax = SoftmaxLikelihood(num_classes=count, mixing_weights=False)
            return Problem(y, softmax, lambda y: _softmax_sites(y, count), latents=count, variance=10.0)
        bernoulli = BernoulliLikelihood() if link == "probit" else Logistic()
        return Problem(y, bernoulli, lambda y: Sites((2 * y - 1)[None], torch.full_like(y, 0.5)))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The expected probability of each class, (rows, classes): the link averaged over the latent functions.

        Args:
            X: rows with the columns of the table of `fit`.
        """
        rows = self._read(X)
        (p,) = evaluate(self.posterior_, [read_host_likelihood(self.likelihood_).response], rows)
        return (torch.cat([1 - p, p], dim=1) if p.shape[1] == 1 else p).numpy()

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each row of X."""
        p = self.predict_proba(X)
        return self.classes_[p.argmax(1)]

    def log_density(self, X: Any, y: Any) -> NDArray[np.float64]:
        """log P(y|x) of each row of X, for the labels y."""
        column = np.searchsorted(self.classes_, np.asarray(y))
        return np.log(self.predict_proba(X)[np.arange(len(column)), column])

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes in explanations: a text as it is, a number such as 3 as "class 3"."""
        check_is_fitted(self)
        return tuple(label if isinstance(label, str) else f"class {label}" for label in self.classes_)

    def _positions(self, outputs: Any) -> list[int] | None:
        """Positions of outputs that are given by labels, names or positions of classes."""
        if outputs is None:
            return None
        several = isinstance(outputs, Iterable) and not isinstance(outputs, str) and getattr(outputs, "ndim", 1) > 0
        positions = [self._position(output) for output in (outputs if several else [outputs])]
        if self.posterior_.latents > 1:
            return positions
        if positions != [1]:
            first, second = self.class_names
            raise ValueError(
                f"expected outputs={second!r}, the class that a {self.likelihood_.__class__.__name__} explains, got "
                f"outputs={outputs!r}; attributions of {first!r} are those of {second!r} with the opposite sign."
            )
        return [0]

    def _position(self, output: Any) -> int:
        """The class of a label, a name or a position; an error if label and position disagree."""
        labels, names, number = self.classes_.tolist(), self.class_names, as_int(output)
        label = output.item() if isinstance(output, np.generic | np.ndarray | Tensor) and output.ndim == 0 else output
        candidates = {labels.index(label)} if label in labels else set()
        candidates |= {names.index(label)} if label in names else set()
        if number is not None and 0 <= number < len(labels):
            candidates.add(number)
        if len(candidates) != 1:
            clash = "can be a label or a position" if candidates else "is neither a label, a name nor a position"
            raise ValueError(f"expected one of the classes {list(names)}, got {output!r}, which {clash}; pass a name.")
        return candidates.pop()


def _softmax_sites(y: Float[Tensor, " n"], count: int) -> Sites:
    """One-hot targets four apart, with the precision of a label."""
    hot = torch.nn.functional.one_hot(y.long(), count).T.to(y.dtype)
    return Sites(4 * (hot - 1 / count), torch.full_like(y, 0.1))
