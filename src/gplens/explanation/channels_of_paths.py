"""The channels of explain(channels=...), by one more integral along the explained paths (MATH 11.1)."""

from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.expectations.channel_gradients import ChannelGradients
from gplens.expectations.expectation import Channel
from gplens.explanation.channels import Channels
from gplens.lines.line import Line
from gplens.paths.attribute import attribute
from gplens.paths.averaging import Background
from gplens.paths.integrand import Question, Rule

OF_SAMPLES = 1e-3
"""The tolerance of channels on paths that switch categories, if psi is a sum over samples with kinks, whose places
on the segments of (11.1a) are not known. Attributions, and the sums of their channels, keep the user's tolerance."""


def check_channels(question: Question) -> None:
    """Refuse a target without channels, before anything is computed."""
    if question.expectation.replicates is not None:
        raise ValueError(
            "expected a target without draws for channels=True, got correlated classes, which are averages over draws. "
            "Explain them without channels=, or explain the latent functions: target=gplens.targets.Latent()."
        )
    if not question.expectation.channels(question.process.latents):
        raise ValueError(
            f"expected a target that is a function of posterior means and variances for channels=True, got "
            f"{question.expectation!r}, which is known by its values and gradients alone. Explain it without channels=."
        )


def channels_of_paths(
    question: Question,
    rule: Rule,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background,
    values: Float[Tensor, "b o d"],
) -> Channels:
    """All channels but the last by the rule and the tolerance of the values; the last is the remainder of the values.

    This takes somewhat longer than the attributions: what a single channel should add up to is not known, so that
    refinement has to rely on the difference of two rules. Nothing is integrated if the target depends on the mean
    alone or on the variance alone.
    """
    parts, outputs = question.expectation.channels(question.process.latents), len(question.outputs)
    whole = _whole_channel(question, parts, x)
    if whole is not None:
        every = torch.zeros(len(parts), *values.shape, dtype=values.dtype)
        every[whole] = values
        return Channels(tuple(part.name for part in parts), every)
    count = question.expectation.count(question.process.latents)
    asked = tuple(i * count + output for i in range(len(parts) - 1) for output in question.outputs)
    gradients = ChannelGradients(question.expectation, parts[:-1])
    tolerance = question.tolerance
    if question.switches is not None and question.expectation.kinked:
        tolerance = max(tolerance, OF_SAMPLES)
    split = replace(question, expectation=gradients, outputs=asked, tolerance=tolerance)
    found = attribute(split, rule, x, baselines, background).integral.values
    others = found.unflatten(1, (len(parts) - 1, outputs)).movedim(1, 0)
    return Channels(tuple(part.name for part in parts), torch.cat([others, (values - others.sum(0))[None]]))


def _whole_channel(question: Question, parts: tuple[Channel, ...], x: Float[Tensor, "b d"]) -> int | None:
    """The only channel that psi depends on, which then holds all attributions; None if there are several."""
    if len(x) == 0:
        return 0
    jet = question.expectation.jet(question.process.along(Line.at(x[:1])), question.outputs)
    if jet.by_v is not None:
        return None
    through_means = [i for i, part in enumerate(parts) if part.means]
    return through_means[0] if len(through_means) == 1 else None
