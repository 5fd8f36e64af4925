"""Attributions of targets that are averages over draws: refined until their standard error is small enough."""

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from gplens.expectations.softmax.sampled import Sampled
from gplens.paths.rules import Integral

if TYPE_CHECKING:
    from gplens.paths.attribution import Attribution, Question


def answer_by_sampling(
    question: "Question", expectation: Sampled, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> "Attribution":
    """Twice the draws for the inputs whose standard error is above the tolerance, while there are more to be had."""
    found = _once(question, expectation, x, baselines)
    missed = ~_met(found, question.tolerance)
    while bool(missed.any()) and (finer := expectation.refined()) is not None:
        expectation = finer
        starts = baselines if len(baselines) == 1 else baselines[missed]
        found = _replaced(found, missed, _once(question, expectation, x[missed], starts))
        missed = ~_met(found, question.tolerance)
    own = found.integral
    converged = ~missed if own.converged is None else own.converged & ~missed  # the draws can tell, whatever the rule
    return replace(found, integral=replace(own, converged=converged))


def _once(
    question: "Question", expectation: Sampled, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"]
) -> "Attribution":
    """Each replicate integrated as outputs of its own; their mean, and the standard error of it."""
    R, C = expectation.replicates, expectation.count(question.process.latents)
    outputs = tuple(r * C + c for r in range(R) for c in question.outputs)
    every = replace(question, expectation=expectation, outputs=outputs).integrate(x, baselines)
    values, start, end = (tensor.unflatten(1, (R, -1)) for tensor in (every.integral.values, every.start, every.end))
    error = None if every.integral.error is None else every.integral.error.unflatten(1, (R, -1)).mean(1)
    integral = Integral(values.mean(1), error, every.integral.nodes, every.integral.converged)
    return replace(
        every,
        integral=integral,
        start=start.mean(1),
        end=end.mean(1),
        standard_error=values.std(1) / sqrt(R),
    )


def _met(found: "Attribution", tolerance: float) -> Bool[Tensor, " b"]:
    """Relative to the input's largest attribution over all outputs: probabilities share a scale (3.15)."""
    assert found.standard_error is not None
    largest = torch.maximum((found.end - found.start).abs().amax(1), found.integral.values.abs().flatten(1).amax(1))
    return found.standard_error.flatten(1).amax(1) <= tolerance * largest


def _replaced(found: "Attribution", rows: Bool[Tensor, " b"], finer: "Attribution") -> "Attribution":
    """The results of the rows that were done again, in the place of the old ones; nodes add up."""

    def put(old: Tensor | None, new: Tensor | None) -> Tensor | None:
        if old is None or new is None:
            return None
        old = old.clone()
        old[rows] = new
        return old

    nodes = found.integral.nodes.clone()
    nodes[rows] += finer.integral.nodes
    tensors = {name: put(getattr(found, name), getattr(finer, name)) for name in ("start", "end", "standard_error")}
    own, new = found.integral, finer.integral
    values = torch.as_tensor(put(own.values, new.values))
    integral = Integral(values, put(own.error, new.error), nodes, put(own.converged, new.converged))
    return replace(found, integral=integral, **tensors)
