"""The part of an attribution from the places where the model is mostly its prior (MATH 4.13)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from gplens.lines.line import Line
from gplens.paths.averaging import Background
from gplens.paths.integrals import Attribution
from gplens.paths.integrand import Question, Rule
from gplens.processes.process import Process

NODES = 33
"""The number of points of a path at which the support is evaluated. A dip between two of them is missed."""
MOSTLY = 0.5
"""Below this support the model is mostly its prior."""
BISECTIONS = 30
"""The number of bisections for the places where the support passes 1/2, which are found to 3e-11 of the path."""

BLOCK = 64
"""The most paths that are evaluated at once."""

Integrate = Callable[..., Attribution]
"""`attribute` or `attribute_by_sampling`."""
Place = Float[Tensor, " m"]


def support_and_prior_part(
    question: Question,
    rule: Rule,
    integrate: Integrate,
    x: Float[Tensor, "b d"],
    baselines: Float[Tensor, "#b s d"],
    background: Background,
) -> tuple[Float[Tensor, "b p"], Float[Tensor, "b o d"]]:
    """The support along each path, and P_k = d_k int_(s < 1/2) d_k T dt  (4.13), both averaged over a background.

    A piece of a straight path is the straight path between its ends, so that P is the sum of the attributions of the
    pieces with low support. This evaluates v at 33 points of each path, and integrates those pieces.

    Raises:
        ValueError: if the prior variance of the process is not known.
    """
    t = torch.linspace(0, 1, NODES, dtype=x.dtype)
    support = _support_of_rows(question.process, x, baselines, t)
    if support is None:
        name = type(question.process).__name__
        raise ValueError(
            f"expected a process with a known prior variance for support=True, got a {name}, which has none. Explain "
            "it without support=."
        )
    starts = baselines.expand(len(x), -1, -1).flatten(0, 1)
    d = x.repeat_interleave(baselines.shape[1], 0) - starts
    path, a, b = _low_pieces(question.process, starts, d, t, support.flatten(0, 1))
    parts = x.new_zeros(len(d), len(question.outputs), x.shape[1])
    if len(path):
        ends, begins = starts[path] + b[:, None] * d[path], starts[path] + a[:, None] * d[path]
        parts.index_add_(0, path, integrate(question, rule, ends, begins[:, None]).integral.values)  # (4.13)
    return background.mean(support), background.mean(parts.unflatten(0, support.shape[:2]))


def _support_of_rows(
    process: Process, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], t: Float[Tensor, " p"]
) -> Float[Tensor, "b s p"] | None:
    """The smallest support of all latent functions at the places t of each path; None if the prior is not known."""
    b, starts = max(1, BLOCK // baselines.shape[1]), baselines.expand(len(X), -1, -1)
    blocks = [X.new_empty(0, baselines.shape[1], len(t))]
    for x, x0 in zip(X.split(b), starts.split(b), strict=True):
        line = Line(x0.flatten(0, 1), (x[:, None] - x0).flatten(0, 1), t.expand(x0.shape[0] * x0.shape[1], -1))
        support = process.support_along(line)
        if support is None:
            return None
        blocks.append(support.amin(1).unflatten(0, x0.shape[:2]))
    return torch.cat(blocks)


def _low_pieces(
    process: Process,
    x0: Float[Tensor, "r d"],
    d: Float[Tensor, "r d"],
    t: Float[Tensor, " p"],
    support: Float[Tensor, "r p"],
) -> tuple[Int[Tensor, " m"], Place, Place]:
    """The pieces of paths on which the support is below 1/2: their path, begin and end."""
    low = support < MOSTLY
    outside = low.new_zeros(len(low), 1)
    padded = torch.cat([outside, low, outside], dim=1)
    path, first = (padded[:, 1:] & ~padded[:, :-1]).nonzero(as_tuple=True)  # the first low point of each piece
    _, after = (padded[:, :-1] & ~padded[:, 1:]).nonzero(as_tuple=True)  # the first one after it
    both = torch.cat([path, path])
    high = torch.cat([t[(first - 1).clamp(min=0)], t[after.clamp(max=len(t) - 1)]])
    begin, end = _crossing(process, x0[both], d[both], high, torch.cat([t[first], t[after - 1]])).chunk(2)
    return path, begin, end


def _crossing(process: Process, x0: Float[Tensor, "m d"], d: Float[Tensor, "m d"], high: Place, low: Place) -> Place:
    """The place where the support passes 1/2, by bisection between a place above and one below it."""
    for _ in range(BISECTIONS):
        middle = (high + low) / 2
        below = _is_low(process, Line(x0, d, middle[:, None]))
        high, low = torch.where(below, high, middle), torch.where(below, middle, low)
    return low


def _is_low(process: Process, line: Line) -> Bool[Tensor, " m"]:
    blocks = [process.support_along(block) for block in line.split(BLOCK)]
    return torch.cat([support[:, :, 0].amin(1) < MOSTLY for support in blocks if support is not None])
