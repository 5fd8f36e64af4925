"""The moments of a live likelihood at latent values, compared with those that were read, and the link they belong to.

A function g of the latent value is recognised as a closed-form link by its values (MATH 2).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gplens import links
from gplens.adapters.gpytorch.modules import reference, undisturbed
from gplens.links import Link
from gplens.processes.process import Marginals

ELEMENTARY = (links.Identity(), links.Exp(), links.Square())
CLOSED = (*ELEMENTARY, links.Softplus(), links.Probit(), links.Sigmoid())
"""Links with closed-form moments. A host's mean function that equals one of them, scaled and shifted, is replaced."""
PROBES = 100 * torch.frac(torch.arange(1, 401, dtype=torch.float64) * 0.6180339887498949) - 50
"""Latent values within +-50, spread by the golden section so that no period of g can hide between them."""
LARGEST = float(PROBES.abs().max())
NEAR = torch.linspace(-4, 4, 9, dtype=torch.float64)
"""Latent values between which the typical variation of g is measured."""
DEVIATIONS = torch.tensor([-7.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 7.0], dtype=torch.float64)
"""The range in which f ~ N(m, v) is probed, in standard deviations. The probability beyond 7 is 3e-12, below
`ACCURACY`."""
SAME = 1e-9
"""The required agreement at the probes, relative to the variation of g."""
FLOOR = 2e-15
"""Rounding, relative to the largest summand of g: torch's normal cdf is a difference that ends in zero."""
MOMENTS = {torch.float64: 1e-8, torch.float32: 1e-4}
"""The largest accepted relative difference of moments of a live likelihood and its shadow, as from torch's softplus,
which is cut off at 20."""
RESPONSE = {torch.float64: 1e-7, torch.float32: 1e-5}
"""The largest accepted difference of the host's mean and the explained one, relative to 1 + |mean|."""


def latent_values(marginals: Marginals) -> Float[Tensor, " k"]:
    """Latent values of a call: within 7 standard deviations of m, and some up to twice as far out.

    The values further out cover the nodes of paths, whose m may leave the range of m at the compared points.
    """
    f = (marginals.m + marginals.v.clamp(min=0).sqrt() * DEVIATIONS).flatten()  # v of -1e-17 is rounding
    reach = 2 * float(f.abs().max()) / LARGEST
    return f if reach <= 1 else torch.cat([f, reach * PROBES[:64]])


def recognise(
    g: Callable[[Tensor], Tensor], candidates: tuple[Link, ...] = CLOSED, latent: Float[Tensor, " k"] = PROBES[:0]
) -> Link:
    """The first candidate that equals g up to scale and shift; quadrature over g if there is none.

    They are compared at `PROBES` and at the given latent values.
    """
    f = torch.cat([PROBES.new_tensor([0.0, 1.0]), NEAR, PROBES, latent])
    with torch.no_grad():
        values = g(f)
    for link in candidates:
        if _same(link, torch.ones_like(f[0]), torch.zeros_like(f[0]), f, values):
            return link
        at_zero, at_one = link(f[:2])
        scale = (values[1] - values[0]) / (at_one - at_zero)
        offset = values[0] - scale * at_zero
        if bool(offset.abs() <= FLOOR * (values[0].abs() + (scale * at_zero).abs())):
            offset = torch.zeros_like(offset)
        if _same(link, scale, offset, f, values):
            return links.Affine(link, float(scale), float(offset))
    return links.Quadrature(g)


def agrees(link: Link, f: Float[Tensor, " k"], values: Float[Tensor, " k"]) -> bool:
    """Whether a recognised link also has the values of g at these latent values."""
    inner, scale, offset = (link.link, link.scale, link.offset) if isinstance(link, links.Affine) else (link, 1.0, 0.0)
    if inner is link and torch.equal(link(f), values):
        return True
    return _same(inner, f.new_tensor(scale), f.new_tensor(offset), f, values)


def _same(link: Link, scale: Tensor, offset: Tensor, f: Float[Tensor, " k"], values: Float[Tensor, " k"]) -> bool:
    """Whether scale * link + offset has the given values, up to the rounding of both."""
    varying = scale * link(f)
    ours, summand = varying + offset, offset.abs() + scale.abs()
    if link in ELEMENTARY and not bool(offset):
        summand = torch.zeros_like(offset)  # hosts round small values of log(1 + e^f) and 1/2 + erf/2, links do not
    limit = SAME * varying.abs() + FLOOR * (summand + values.abs())
    return bool(((ours == values) | ((ours - values).abs() <= limit)).all())  # equal where both overflow


class Answers(NamedTuple):
    """E[y|f] and Var[y|f] of a live likelihood at latent values."""

    f: Float[Tensor, "k *c"]
    mean: Float[Tensor, "k *c"]
    variance: Float[Tensor, "k *c"]
    kind: str
    """The distribution of y given f."""
    dtype: torch.dtype
    """The precision in which the likelihood computes; all tensors are float64."""


def ask(likelihood: Any, f: Float[Tensor, " k"]) -> Answers:
    """Evaluate `forward(f)` in the precision and on the device of the likelihood, which is not changed."""
    with undisturbed(likelihood), torch.no_grad():
        f = f.to(reference(likelihood))
        y = likelihood.forward(f)
        moments = (torch.as_tensor(moment).expand(f.shape) for moment in (y.mean, y.variance))
        f, mean, variance = (tensor.to("cpu", torch.float64) for tensor in (f, *moments))
        return Answers(f, mean, variance, type(y).__name__, y.mean.dtype)


def check_answers(name: str, before: Answers, now: Answers) -> None:
    """Refuse a likelihood whose moments have changed since it was read; f begins with the values of that time."""
    n = len(before.f)
    for part in ("mean", "variance"):
        old, new = getattr(before, part), getattr(now, part)[:n]
        if before.kind == now.kind and torch.equal(old, new):
            continue
        limit = 8 * torch.finfo(now.dtype).eps * old.abs()  # values may be rounded differently in a longer tensor
        same = ((old - new).abs() <= limit) | (old == new) | (old.isnan() & new.isnan())
        if before.kind != now.kind or not bool(same.all()):
            raise ValueError(f"expected the {name} that was read, got one whose {now.kind}.{part} has changed since.")


def check_moment(name: str, part: str, expected: Tensor, got: Float[Tensor, " k"], answers: Answers) -> None:
    """Refuse a live likelihood whose moments differ from those of its shadow by more than rounding."""
    expected, limits = expected.expand(got.shape), torch.finfo(answers.dtype)
    size = expected[: len(NEAR)].abs().max()  # f begins with NEAR
    limit = MOMENTS[answers.dtype] * expected.abs() + 4 * limits.eps * size
    same = ((expected - got).abs() <= limit) | (expected == got) | (expected.isnan() & got.isnan())
    same |= got.isinf() & (expected.abs() > 0.99 * limits.max)  # float32 may overflow
    if not bool(same.all()):
        i = int((~same).nonzero()[0])
        raise ValueError(
            f"expected a {part} of {float(expected[i]):.8g} at f = {float(answers.f[i]):.8g} from the {name} that was "
            f"read, got {float(got[i]):.8g} from its own forward(f); gplens would not explain your model."
        )


def check_response(
    ours: Float[Tensor, "*k"], predicted: Float[Tensor, "*k"], name: str, what: str, same: float = 1e-7
) -> None:
    """Refuse a likelihood whose own mean differs from the one that gplens would explain, relative to 1 + |mean|."""
    if ours.shape != predicted.shape:
        shapes = f"{tuple(ours.shape)} from {name} for as many latent values, got {tuple(predicted.shape)}"
        raise ValueError(f"expected means of shape {shapes}.")
    difference = (ours - predicted).abs() / (1 + predicted.abs())
    if not bool(difference.max() <= same):
        i = int(difference.argmax())
        raise ValueError(
            f"expected {what}, {float(ours.flatten()[i]):.8g}, from {name}, got {float(predicted.flatten()[i]):.8g}; "
            "gplens would not explain your model. Give the link that is meant instead: "
            "likelihood=gplens.links.Quadrature(g), or target=gplens.targets.Custom(g)."
        )
