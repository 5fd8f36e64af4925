"""The one verb: adapt the model, integrate along the paths, return an Explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, SupportsIndex, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.reading import Reading, check_columns, read, with_likelihood
from gplens.adapters.tables import Table, read_table
from gplens.baselines import Baseline, as_baseline
from gplens.expectations.expectation import Expectation
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.expectations.softmax.sampled import correlated
from gplens.explanation.result import Explanation, Provenance, group_columns, output_index
from gplens.likelihood import Likelihood
from gplens.memory import budget, keep_freed
from gplens.paths.adaptive import Adaptive
from gplens.paths.attribution import Attribution, Question
from gplens.paths.rules import Rule
from gplens.precision import FINEST as FINEST_SINGLE
from gplens.precision import Single
from gplens.processes.process import Process
from gplens.targets import Response, Target
from gplens.uncertainty import Uncertainty
from gplens.uncertainty.attach import requested, with_spread
from gplens.uncertainty.engine import Inquiry

CHECKED = 64
"""The most inputs, and as many baselines, at which an adapter compares itself with the host."""
FINEST = 1e-13
"""Below this a tolerance asks for digits that float64 does not have."""
T = TypeVar("T")


def explain(
    model: Any,
    X: Any,
    *,
    baseline: Any = None,
    likelihood: Any = None,
    target: Target | None = None,
    outputs: SupportsIndex | str | Sequence[SupportsIndex | str] | None = None,
    rule: Rule | None = None,
    tolerance: float | None = None,
    uncertainty: Uncertainty | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
    memory: int | None = None,
    dtype: torch.dtype = torch.float64,
) -> Explanation:
    """Integrated Gradients of a Gaussian process: which feature moved the prediction, and by how much.

    IG_k = d_k int_0^1 d_k T(x0 + t d) dt,  d = x - x0  (4.1).

    Args:
        model: a fitted GPyTorch, BoTorch or scikit-learn Gaussian process, a gplens.Posterior, gplens.Functions, or
            what gplens.read(model) returned. It is left as it was.
        X: the inputs to explain: an array, tensor, pandas or polars frame, (rows, features).
        baseline: relative to what: a scalar, a vector, a row for each input, or an object of gplens.baselines.
        likelihood: as the host library has it, or a link. An ExactGP carries its own.
        target: what is explained, an object of gplens.targets; the expected response if None.
        outputs: indices or names of the outputs of a model that has several; all of them if None.
        rule: an object of gplens.rules; adaptive if None.
        tolerance: the error of every attribution relative to the larger of |T(x) - T(x0)| and the input's largest
            attribution: 1e-6 if None, or 1e-4 where only Monte Carlo will do (correlated classes). Rows that miss it
            say so in `converged`.
        uncertainty: gplens.Diagonal(), Full() or Samples(count, seed): how sure the model is of each attribution.
            Nothing of it is computed if None.
        groups: features to be added up: {"hour": ["hour_sin", "hour_cos"]}.
        feature_names: the names of the columns; those of the frame if None.
        memory: bytes that temporaries may take beside the result; a quarter of what is free if None. The result does
            not depend on it.
        dtype: torch.float32 computes the kernels and their gradients in single precision, to some four digits
            (docs/SPEED.md), with a tolerance of 1e-4 if None is given. Error bars are in float64 in any case.

    Raises:
        ValueError, TypeError: what was got, what was wanted and what to do. Nothing is half done.
    """
    target, rule = _instance(target or Response(), Target, "target"), _instance(rule or Adaptive(), Rule, "rule")
    if uncertainty is not None:
        _instance(uncertainty, Uncertainty, "uncertainty")
    table, start = read_table(X, "X"), as_baseline(baseline)
    names = _feature_names(table, feature_names, start)
    if groups is not None:
        group_columns(names, groups)  # so that a mistake is found before the work
    keep_freed()
    with torch.inference_mode(False), torch.no_grad():
        starts = start.rows(table.values)
        adapted, known = _adapt(model, likelihood, table.values, starts)
        _check_columns(table, adapted)
        process, expectation = _functional(target, known, adapted)
        tolerance = _tolerance(tolerance, expectation, FINEST_SINGLE if _single(dtype) else FINEST)
        chosen, output_names = _outputs(outputs, expectation, process.latents)
        process, expectation, chosen = expectation.narrowed(process, chosen)
        expectation, size = expectation.within(tolerance), budget(memory)
        request = None if uncertainty is None else requested(uncertainty, start, grouped=bool(groups))
        inquiry = None if request is None else Inquiry(process, expectation, chosen, request, tolerance, size)
        if inquiry is not None:
            inquiry.check()
        seen = Single.of(process) if _single(dtype) else process
        found = Question(seen, expectation, chosen, rule, tolerance, size).answer(table.values, starts)
        sure = None if inquiry is None else inquiry.answer(table.values, starts[:, 0], found.integral.values)
    provenance = _provenance(adapted, known, target, start, rule, tolerance)
    explanation = _explanation(found, table, start, starts, names, output_names, provenance)
    if inquiry is not None and sure is not None:
        explanation = with_spread(explanation, sure, inquiry)
    return explanation if groups is None else explanation.group(groups)


def _explanation(
    found: Attribution,
    table: Table,
    start: Baseline,
    starts: Float[Tensor, "#b s d"],
    feature_names: tuple[str, ...],
    output_names: tuple[str, ...] | None,
    provenance: Provenance,
) -> Explanation:
    """The result, without an axis of outputs where there is only one."""

    def shaped(tensor: Tensor) -> Tensor:
        return tensor[:, 0] if output_names is None else tensor

    own = found.integral
    return Explanation(
        values=shaped(own.values),
        prediction=shaped(found.end),
        baseline_prediction=shaped(found.start),
        gap=shaped(found.gap),
        error=None if own.error is None else shaped(own.error),
        nodes=own.nodes,
        converged=own.converged,
        inputs=table.values,
        baseline=starts[0] if start.background else starts[:, 0].expand(table.values.shape),
        feature_names=feature_names,
        output_names=output_names,
        provenance=provenance,
        background=start.background,
        standard_error=None if found.standard_error is None else shaped(found.standard_error),
    )


def _adapt(
    model: Any, likelihood: Any, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> tuple[Reading, Likelihood | None]:
    """The model as it was read, compared with the live one at inputs and baselines of this call; its likelihood."""
    inputs, origins = _telling(X), _telling(baselines.flatten(0, 1))
    points = torch.cat([inputs, origins, (inputs + origins[:1]) / 2])
    if isinstance(model, Reading):
        reading = model if likelihood is None else with_likelihood(model, likelihood)
    else:
        reading = read(model, likelihood, points=points)
    check_columns(reading.process.features, X)
    try:
        notes = reading.compare(points)
    except (ValueError, ArithmeticError) as cause:
        if not isinstance(model, Reading):
            raise
        raise ValueError(
            f"{cause} If the model has changed since it was read, call gplens.read(model) again."
        ) from cause
    return replace(reading, notes=(*reading.notes, *notes)), reading.likelihood


def _check_columns(table: Table, reading: Reading) -> None:
    if table.names and reading.columns and table.names != reading.columns:
        raise ValueError(
            f"expected X with the columns {list(reading.columns)} that the model was fitted on, got "
            f"{list(table.names)}; give it the same columns in the same order."
        )


def _telling(X: Float[Tensor, "b d"]) -> Float[Tensor, "k d"]:
    """Some rows, evenly spaced, and those with the smallest and the largest value of each feature: at most 64."""
    spaced = torch.linspace(0, len(X) - 1, min(len(X), CHECKED // 4)).long()
    extreme = torch.stack([X.argmin(0), X.argmax(0)], dim=1).flatten()
    return X[torch.cat([spaced, extreme])[:CHECKED].unique()]


def _functional(target: Target, likelihood: Likelihood | None, adapted: Reading) -> tuple[Process, Expectation]:
    """What is explained, as a function of latent functions; of the independent ones behind a mix where it must be."""
    latents = adapted.process.latents
    if likelihood is not None and likelihood.latents not in (None, latents):
        raise ValueError(
            f"{likelihood.name} takes {likelihood.latents} latent functions; {adapted.model} has {latents}. "
            "Pass the likelihood that the model was fitted with."
        )
    process, expectation = adapted.process, target.bind(likelihood)
    if adapted.draws is not None:
        return process, over_hyperparameters(expectation, adapted.draws)
    sources = process.sources() if expectation.independent else None
    if sources is not None:
        return sources.process, correlated(expectation, sources.weights, sources.noise)
    return process, expectation


def _outputs(
    outputs: SupportsIndex | str | Sequence[SupportsIndex | str] | None, expectation: Expectation, latents: int
) -> tuple[tuple[int, ...], tuple[str, ...] | None]:
    """The indices asked for, and their names; no names where there is a single output."""
    count, names = expectation.count(latents), expectation.names(latents)
    if outputs is None:
        return tuple(range(count)), names if count > 1 else None
    asked = [outputs] if isinstance(outputs, SupportsIndex | str) else list(outputs)
    chosen = tuple(output_index(names, one) for one in asked)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"outputs={outputs!r}: wanted was each output once, of those named {list(names)}.")
    return chosen, tuple(names[i] for i in chosen) if count > 1 else None


def _feature_names(table: Table, given: Sequence[str] | None, baseline: Baseline) -> tuple[str, ...]:
    """The user's, or the frame's, or x0, x1, ..."""
    d = table.values.shape[1]
    if table.names and baseline.names and table.names != baseline.names:
        raise ValueError(
            f"X has the columns {list(table.names)}, the baseline {list(baseline.names)}; give both the same columns "
            "in the same order."
        )
    names = tuple(given) if given is not None else table.names or tuple(f"x{i}" for i in range(d))
    if isinstance(given, str) or len(names) != d or len(set(names)) != d:
        raise ValueError(f"X has {d} columns, which want as many different names; got {list(names)}.")
    return names


def _provenance(
    adapted: Reading,
    likelihood: Likelihood | None,
    target: Target,
    baseline: Baseline,
    rule: Rule,
    tolerance: float,
) -> Provenance:
    return Provenance(
        model=adapted.model,
        likelihood=None if likelihood is None else likelihood.name,
        target=repr(target),
        baseline=repr(baseline),
        rule=repr(rule),
        tolerance=tolerance,
        gradients="autograd" if adapted.process.autograd else "closed form",
        notes=adapted.notes,
        version=_version(),
    )


@cache
def _version() -> str:
    return version("gplens")


def _tolerance(asked: Any, expectation: Expectation, finest: float) -> float:
    tolerance = max(finest, expectation.default_tolerance) if asked is None else asked
    if not isinstance(tolerance, float | int) or not finest <= tolerance < 1:
        example = "1e-6" if finest == FINEST else "1e-3"
        raise ValueError(f"tolerance={tolerance}: wanted was a relative error from {finest:g} to 1, such as {example}.")
    return tolerance


def _single(dtype: Any) -> bool:
    """Whether float32 was asked for."""
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype={dtype}: wanted was torch.float64 or torch.float32.")
    return dtype == torch.float32


def _instance(thing: T, kind: type[T], what: str) -> T:
    if not isinstance(thing, kind):
        raise TypeError(f"{what} is {thing!r}; wanted was an object such as {EXAMPLES[what]}.")
    return thing


EXAMPLES = {
    "target": "gplens.targets.Latent()",
    "rule": "gplens.rules.GaussLegendre(16)",
    "uncertainty": "gplens.Diagonal()",
}
