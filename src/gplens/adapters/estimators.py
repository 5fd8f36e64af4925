"""Reading the estimators of gplens: a GPyTorch model with scikit-learn's interface and the names of its classes."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.encoders import Encoder
from gplens.adapters.reading import Reading, read_model, with_likelihood
from gplens.processes.process import Marginals, Process


class FittedEstimator:
    """Base class of estimators that `gplens.explain` reads through the GPyTorch model that they fitted."""

    model_: Any
    """A fitted GPyTorch model; missing before fit."""
    likelihood_: Any
    """The GPyTorch likelihood that it was fitted with."""
    posterior_: Process
    """The process that was read from `model_` after the fit, or loaded; predictions evaluate it."""

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of all classes of a classifier, in the order of its outputs; None for other estimators."""
        return None

    @property
    def default_baseline(self) -> Any:
        """The default baseline for explanations; None if there is none."""
        return None

    @property
    def encoder(self) -> Encoder | None:
        """How tables become inputs of the model; None if their columns are the inputs."""
        return None


@read_model.register
def _(model: FittedEstimator, points: Float[Tensor, "k d"] | None) -> Reading:
    """Read the process that the estimator's predictions evaluate; `compare` evaluates the live GPyTorch model."""
    name = type(model).__name__
    if not hasattr(model, "model_"):
        raise ValueError(f"expected a fitted {name}, got one without model_; call fit(X, y) first.")
    from gplens.adapters.gpytorch.live import Snapshot, compare_live

    fitted, likelihood, process = model.model_, model.likelihood_, model.posterior_
    inner = with_likelihood(
        Reading(process, name, compare=partial(compare_live, fitted, process, Snapshot(fitted, process))), likelihood
    )

    def compare(points: Float[Tensor, "k d"], at: Marginals) -> tuple[str, ...]:
        if model.model_ is not fitted or model.likelihood_ is not likelihood:
            raise ValueError(f"expected the {name} that was read, got one that has been fitted again since.")
        return inner.compare(points, at)

    observed, notes, columns = inner.likelihood, inner.notes, getattr(model, "feature_names_in_", None)
    if observed is not None and model.class_names is not None:
        outputs = output_names(model.class_names, observed.response.count(inner.process.latents))
        observed, notes = replace(observed, outputs=outputs), (*notes, *single_output_note(outputs))
    return replace(
        inner,
        model=name,
        likelihood=observed,
        notes=notes,
        conjugate=True,
        columns=None if columns is None else tuple(str(column) for column in columns),
        encoder=model.encoder,
        default_baseline=model.default_baseline,
        compare=compare,
    )


def output_names(classes: Iterable[Any], outputs: int) -> tuple[str, ...]:
    """Names of the outputs of a classifier: its classes, or, for a single output, the probability of the second."""
    names = class_names(classes)
    return (f"P(y = {names[1]})",) if outputs == 1 else names


def single_output_note(outputs: tuple[str, ...]) -> tuple[str, ...]:
    """A note on the class whose probability a binary explanation explains."""
    return (f"the output is {outputs[0]}",) if len(outputs) == 1 else ()


def class_names(classes: Iterable[Any]) -> tuple[str, ...]:
    """The name of a class: a text as it is, any other label such as 1 as "class 1"."""
    return tuple(str(label) if isinstance(label, str) else f"class {label}" for label in classes)
