"""The values of BoTorch's acquisition functions at points, and the numbers that they depend on."""

from typing import Any, final

import torch
from gpytorch import settings
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.live import DOUBLE, SINGLE
from gplens.adapters.gpytorch.modules import exactly, reference, undisturbed, without_warnings_of_jitter
from gplens.adapters.reading import compare_numbers
from gplens.expectations.acquisition import Acquisition
from gplens.lines.forms import Form
from gplens.processes.process import Marginals

ROUNDING = 1e-9
"""The largest accepted difference of two float64 evaluations of one formula, relative to its value."""
ROUNDING_OF_SINGLE = 1e-3
"""The same for a host that computes in float32."""
HINT = "Its class may be changed, or it evaluates its model in another way than posterior(X)."


def model_of(acquisition: Any) -> Any:
    """The model of an acquisition function, or of the one inside of it; None if there is none."""
    for name in ("model", "acq_func", "raw_acqf"):
        inner = getattr(acquisition, name, None)
        if inner is not None:
            return inner if name == "model" else model_of(inner)
    return None


def evaluate(acquisition: Any, x: Float[Tensor, "k d"]) -> Float[Tensor, " k"]:
    """acquisition(x) of single candidates, in its own precision.

    Variances of models that are conditioned on a candidate depend on it through what GPyTorch keeps between
    predictions, and takes out of the graph of autograd by default.
    """
    with without_warnings_of_jitter(), settings.detach_test_caches(False):
        return acquisition(x[:, None].to(reference(acquisition))).to("cpu", torch.float64)


def numbers_of(acquisition: Any) -> dict[str, Tensor]:
    """Copies of the buffers and numbers of an acquisition function, without those of its model."""
    named = {name: buffer for name, buffer in acquisition.named_buffers() if not name.startswith("model.")}
    named |= {name: value for name, value in vars(acquisition).items() if type(value) in (bool, int, float, Tensor)}
    return {name: torch.as_tensor(value).detach().clone() for name, value in named.items() if name != "training"}


@final
class PointMoments(Marginals):
    """m and v as numbers."""

    def __init__(self, m: Float[Tensor, "k c 1"], v: Float[Tensor, "k c 1"]) -> None:
        self.numbers = m, v

    def means(self) -> Float[Tensor, "k c 1"]:
        return self.numbers[0]

    def variances(self) -> Float[Tensor, "k c 1"]:
        return self.numbers[1]

    def pull_back(self, wm: Tensor, wv: Tensor | None) -> Form:
        return Form()


def check_values(acquisition: Any, expectation: Acquisition, points: Float[Tensor, "k d"], at: Marginals) -> str:
    """Refuse a psi whose values differ from acquisition(points) by more than accepted differences of m and v explain.

    Where sqrt(v) is steep, a negligible difference of v is a large difference of psi. The accepted difference is
    therefore how far psi moves if m and v move by as much as they may differ from the host's.
    """
    model, dtype = acquisition.model, reference(acquisition.model).dtype
    with undisturbed(model), exactly():
        host = evaluate(acquisition, points)
    single = dtype != torch.float64
    share, rounding = (SINGLE, ROUNDING_OF_SINGLE) if single else (DOUBLE, ROUNDING)
    m, v = at.m, at.v if expectation.needs_variance else torch.zeros_like(at.m)
    by_m, by_v = share * (m.abs().max() + v.max().sqrt()), share * v.max()
    ours = _values(expectation, m, v)
    moved = [
        (_values(expectation, m + i * by_m, (v + j * by_v).clamp(min=0)) - ours).abs() for i in (-1, 1) for j in (-1, 1)
    ]
    limit = torch.stack(moved).amax(0) + rounding * (ours.abs() + by_m / share)
    difference = compare_numbers("value", ours / limit, host / limit, 1.0, HINT)
    return f"{expectation.name} equals the host's to {difference:.1e} of what may differ at {len(points)} points"


def _values(expectation: Acquisition, m: Tensor, v: Tensor) -> Float[Tensor, " k"]:
    return expectation.jet(PointMoments(m, v), (0,)).value[:, 0, 0]
