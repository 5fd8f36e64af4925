"""The one verb: adapt the model, integrate along the paths, return an Explanation."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.registry import Adapted, adapt, load_host, read_likelihood
from gplens.adapters.tables import Table, read_table
from gplens.baselines import Baseline, as_baseline
from gplens.explanation import Explanation, Provenance
from gplens.functionals import Functional
from gplens.likelihood import Likelihood
from gplens.paths.adaptive import Adaptive
from gplens.paths.attribution import Attribution, Question
from gplens.paths.rules import Rule
from gplens.targets import Response, Target

CHECKED = 6
"""Inputs, and as many baselines, at which an adapter compares itself with the host."""
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
    outputs: int | str | Sequence[int | str] | None = None,
    rule: Rule | None = None,
    tolerance: float = 1e-6,
    groups: Mapping[str, Sequence[str]] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Explanation:
    """Integrated Gradients of a Gaussian process: which feature moved the prediction, and by how much.

    IG_k = d_k int_0^1 d_k T(x0 + t d) dt,  d = x - x0  (4.1).

    Args:
        model: a fitted GPyTorch ExactGP or ApproximateGP, or a gplens.Posterior. It is left as it was.
        X: the inputs to explain: an array, tensor, pandas or polars frame, (rows, features).
        baseline: relative to what: a scalar, a vector, a row for each input, or an object of gplens.baselines.
        likelihood: as the host library has it, or a link. An ExactGP carries its own.
        target: what is explained, an object of gplens.targets; the expected response if None.
        outputs: indices or names of the outputs of a model that has several; all of them if None.
        rule: an object of gplens.rules; adaptive if None.
        tolerance: the error of every attribution relative to the larger of |T(x) - T(x0)| and the input's largest
            attribution. Rows that miss it say so in `converged`.
        groups: features to be added up: {"hour": ["hour_sin", "hour_cos"]}.
        feature_names: the names of the columns; those of the frame if None.

    Raises:
        ValueError, TypeError: what was got, what was wanted and what to do. Nothing is half done.
    """
    _check_tolerance(tolerance)
    target, rule = _instance(target or Response(), Target, "target"), _instance(rule or Adaptive(), Rule, "rule")
    table, start = read_table(X, "X"), as_baseline(baseline)
    names = _feature_names(table, feature_names, start)
    with torch.inference_mode(False), torch.no_grad():
        starts = start.rows(table.values)
        adapted, known = _adapt(model, likelihood, table.values, starts)
        functional = _functional(target, known, adapted)
        chosen, output_names = _outputs(outputs, functional, adapted)
        question = Question(adapted.process, functional, chosen, rule, tolerance)
        found = question.answer(table.values, starts)
    provenance = _provenance(adapted, known, target, start, rule, tolerance)
    explanation = _explanation(found, table, starts, names, output_names, provenance)
    return explanation if groups is None else explanation.group(groups)


def _explanation(
    found: Attribution,
    table: Table,
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
        baseline=starts[0] if starts.shape[1] > 1 else starts[:, 0].expand(table.values.shape),
        feature_names=feature_names,
        output_names=output_names,
        provenance=provenance,
    )


def _adapt(
    model: Any, likelihood: Any, X: Float[Tensor, "b d"], starts: Float[Tensor, "#b s d"]
) -> tuple[Adapted, Likelihood | None]:
    """The model as a process, checked at a few of the inputs and baselines; its own likelihood or the given one."""
    load_host(model)
    points = torch.cat([X[:CHECKED], starts.flatten(0, 1)[:CHECKED], (X[:1] + starts[:1, 0]) / 2])
    adapted = adapt(model, points)
    if adapted.process.features != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} columns; the model was fitted on {adapted.process.features}.")
    if likelihood is None:
        return adapted, adapted.likelihood
    load_host(likelihood)
    return adapted, adapted.agreed(read_likelihood(likelihood))


def _functional(target: Target, likelihood: Likelihood | None, adapted: Adapted) -> Functional:
    latents = adapted.process.latents
    if likelihood is not None and likelihood.latents not in (None, latents):
        raise ValueError(
            f"{likelihood.name} takes {likelihood.latents} latent functions; {adapted.model} has {latents}. "
            "Pass the likelihood that the model was fitted with."
        )
    return target.bind(likelihood)


def _outputs(
    outputs: int | str | Sequence[int | str] | None, functional: Functional, adapted: Adapted
) -> tuple[tuple[int, ...], tuple[str, ...] | None]:
    """The indices asked for, and their names; no names where there is a single output."""
    count = functional.count(adapted.process.latents)
    names = adapted.output_names or tuple(f"output {i}" for i in range(count))
    if outputs is None:
        return tuple(range(count)), names if count > 1 else None
    asked = [outputs] if isinstance(outputs, int | str) else list(outputs)
    chosen = tuple(names.index(one) if isinstance(one, str) and one in names else one for one in asked)
    unknown = [one for one in chosen if isinstance(one, str) or not 0 <= one < count]
    if unknown or not chosen:
        raise ValueError(f"outputs={outputs!r}: the model has {count}, numbered from 0 and named {list(names)}.")
    indices = tuple(int(one) for one in chosen)
    return indices, tuple(names[i] for i in indices) if count > 1 else None


def _feature_names(table: Table, given: Sequence[str] | None, baseline: Baseline) -> tuple[str, ...]:
    """The user's, or the frame's, or x0, x1, ..."""
    d = table.values.shape[1]
    if table.names and baseline.names and table.names != baseline.names:
        raise ValueError(
            f"X has the columns {list(table.names)}, the baseline {list(baseline.names)}; give both the same columns "
            "in the same order."
        )
    names = tuple(given) if given is not None else table.names or tuple(f"x{i}" for i in range(d))
    if len(names) != d or len(set(names)) != d:
        raise ValueError(f"X has {d} columns, which want as many different names; got {list(names)}.")
    return names


def _provenance(
    adapted: Adapted,
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
        version=version("gplens"),
    )


def _check_tolerance(tolerance: float) -> None:
    if not FINEST <= tolerance < 1:
        raise ValueError(f"tolerance={tolerance}: wanted was a relative error from {FINEST:g} to 1, such as 1e-6.")


def _instance(thing: T, kind: type[T], what: str) -> T:
    if not isinstance(thing, kind):
        raise TypeError(f"{what} is {thing!r}; wanted was an object of gplens.{what}s, such as {EXAMPLES[what]}.")
    return thing


EXAMPLES = {"target": "gplens.targets.Latent()", "rule": "gplens.rules.GaussLegendre(16)"}
