"""The prior variance of a process, and the share of it that the data have explained (MATH 1)."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.lines.line import Line
from gplens.processes.curved import Curved
from gplens.processes.mix import Mix
from gplens.processes.posterior import Posterior
from gplens.processes.process import Marginals, Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import Transformed

BLOCK = 64
"""The most paths that are evaluated at once."""
PATHS = 16
"""The most paths whose ends and middle are checked by every call."""
PLACES = (0.0, 0.5, 1.0)
"""The baseline, the middle and the input of a path."""


def prior_variance(process: Process, X: Float[Tensor, "b d"]) -> Float[Tensor, "b c"] | None:
    """k(x,x) + jitter of every latent function; None for a process without a known prior, such as gplens.Functions."""
    if isinstance(process, Posterior):
        return (process.kernel.diagonal(X) + process.jitter)[:, None].expand(-1, process.latents)
    if isinstance(process, Transformed):
        return prior_variance(process.base, process.map(X))
    if isinstance(process, Curved):
        return prior_variance(process.base, process.phi(X))
    if isinstance(process, Mix):
        base = prior_variance(process.base, X)
        return None if base is None else base @ process.weights.T**2 + process.jitter  # (1.8)
    if isinstance(process, Stack):
        parts = [prior_variance(part, X) for part in process.parts]
        known = [part for part in parts if part is not None]
        return torch.cat(known, dim=1) if len(known) == len(parts) else None
    return None


def support_along(process: Process, line: Line) -> Float[Tensor, "b c q"] | None:
    """s = 1 - v/k at the nodes of a line  (1.15): 1 where the data determine the function, 0 where only the prior does.

    None if the prior is not known. Where k(x,x) = 0, the prior itself determines the function, and the support is 1.
    """
    points = line.points()
    prior = prior_variance(process, points.flatten(0, 1))
    return None if prior is None else _support(process.along(line).v, prior.unflatten(0, points.shape[:2]).mT)


def support_at(process: Process, X: Float[Tensor, "k d"], at: Marginals) -> Float[Tensor, "k c"] | None:
    """The support at points, given the marginals there; None if the prior is not known."""
    prior = prior_variance(process, X)
    return None if prior is None else _support(at.v[:, :, 0], prior)


def _support(v: Float[Tensor, "*k"], prior: Float[Tensor, "*k"]) -> Float[Tensor, "*k"]:
    if prior.numel() and prior.min().item() > 0:
        return 1 - v / prior  # (1.15)
    return torch.where(prior > 0, 1 - v / torch.where(prior > 0, prior, 1.0), 1.0)  # (1.15)


def support_of_rows(
    process: Process, X: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], t: Float[Tensor, " p"]
) -> Float[Tensor, "b s p"] | None:
    """The smallest support of all latent functions at the places t of each path; None if the prior is not known."""
    b, starts = max(1, BLOCK // baselines.shape[1]), baselines.expand(len(X), -1, -1)
    blocks = [X.new_empty(0, baselines.shape[1], len(t))]
    for x, x0 in zip(X.split(b), starts.split(b), strict=True):
        line = Line(x0.flatten(0, 1), (x[:, None] - x0).flatten(0, 1), t.expand(x0.shape[0] * x0.shape[1], -1))
        support = support_along(process, line)
        if support is None:
            return None
        blocks.append(support.amin(1).unflatten(0, x0.shape[:2]))
    return torch.cat(blocks)


def support_at_places(
    process: Process, x: Float[Tensor, "b d"], baselines: Float[Tensor, "#b s d"], known: Marginals | None = None
) -> Float[Tensor, "k p"] | None:
    """The support at the baseline, the middle and the input of some paths, averaged over the baselines of each input.

    This evaluates v at three points of at most 16 paths, whatever the number of inputs. None if the prior is not known.
    `known` are the marginals of a single path at its input, baseline and middle.
    """
    if known is not None and len(x) == baselines.shape[1] == 1:
        x0 = baselines[0]
        support = support_at(process, torch.cat([x, x0, (x + x0) / 2]), known)
        return None if support is None else support.amin(1).roll(-1)[None]
    s = min(baselines.shape[1], PATHS)
    rows, members = _spaced(len(x), max(1, PATHS // s)), _spaced(baselines.shape[1], s)
    starts = (baselines if len(baselines) == 1 else baselines[rows])[:, members]
    support = support_of_rows(process, x[rows], starts, torch.tensor(PLACES, dtype=x.dtype))
    return None if support is None else support.mean(1)


def _spaced(count: int, most: int) -> Tensor:
    """Evenly spaced positions."""
    return torch.linspace(0, count - 1, min(count, most)).long()
