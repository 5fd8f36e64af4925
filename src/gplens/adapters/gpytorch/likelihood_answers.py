"""The moments that a live likelihood returns at latent values, compared with the ones that were read."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.recognition import NEAR
from gplens.adapters.gpytorch.snapshot import reference, undisturbed

SAME = {torch.float64: 1e-8, torch.float32: 1e-4}
"""The largest accepted relative difference of moments of a live likelihood and its shadow, as from torch's softplus,
which is cut off at 20."""
RESPONSE = {torch.float64: 1e-7, torch.float32: 1e-5}
"""The largest accepted difference of the host's mean and the explained one, relative to 1 + |mean|."""


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
    limit = SAME[answers.dtype] * expected.abs() + 4 * limits.eps * size
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
