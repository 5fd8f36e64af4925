"""Attributions of targets that are averages over draws, refined until their standard error meets the tolerance."""

from dataclasses import replace
from math import sqrt

from jaxtyping import Bool, Float
from torch import Tensor

from gplens.paths.attribute import attribute
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution, Integral
from gplens.paths.integrand import Question, Rule


def attribute_by_sampling(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background = Background(),
) -> Attribution:
    """Double the draws of the inputs whose standard error is above the tolerance, up to the largest number of draws."""
    attribution = _averaged_over_replicates(question, rule, x, baselines, background)
    missed = ~_met(attribution, question.tolerance)
    while bool(missed.any()) and (finer := question.expectation.refined()) is not None:
        question = replace(question, expectation=finer)
        missed_baselines = baselines if len(baselines) == 1 else baselines[missed]
        again = _averaged_over_replicates(question, rule, x[missed], missed_baselines, background)
        attribution = attribution.replaced(missed, again)
        missed = ~_met(attribution, question.tolerance)
    converged = attribution.integral.converged
    converged = ~missed if converged is None else converged & ~missed  # draws have an error estimate whatever the rule
    return replace(attribution, integral=replace(attribution.integral, converged=converged))


def _averaged_over_replicates(
    question: Question, rule: Rule, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], background: Background
) -> Attribution:
    """Integrate every replicate as a separate output; return their mean and its standard error.

    The deviation over a background is the root mean square over replicates, and so includes their noise.
    """
    R, C = question.expectation.replicates, question.expectation.count(question.process.latents)
    assert R is not None
    outputs = tuple(r * C + c for r in range(R) for c in question.outputs)
    replicates = attribute(replace(question, outputs=outputs), rule, x, baselines, background)
    integral = replicates.integral
    values, start, end = (part.unflatten(1, (R, -1)) for part in (integral.values, replicates.start, replicates.end))
    error = None if integral.error is None else integral.error.unflatten(1, (R, -1)).mean(1)
    averaged = Integral(values.mean(1), error, integral.nodes, integral.converged)
    std = replicates.background_std
    over_background = None if std is None else std.unflatten(1, (R, -1)).square().mean(1).sqrt()
    return Attribution(averaged, start.mean(1), end.mean(1), values.std(1) / sqrt(R), over_background)


def _met(attribution: Attribution, tolerance: float) -> Bool[Tensor, " b"]:
    """Relative to the input's largest attribution over all outputs, since probabilities share a scale (3.15)."""
    assert attribution.standard_error is not None
    return attribution.standard_error.flatten(1).amax(1) <= tolerance * attribution.largest().amax(1)
