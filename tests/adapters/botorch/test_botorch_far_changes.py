"""Changes that no point of a call shows: inputs, baselines and their middles are far from all data, paths pass them."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.transforms import Normalize
from gpytorch.kernels import MaternKernel

import gplens

pytestmark = pytest.mark.filterwarnings(
    "ignore:Data:botorch.exceptions.warnings.InputDataWarning"
)  # BoTorch, of data that are not scaled
DRAW = torch.Generator().manual_seed(0)
X = torch.stack([torch.linspace(0, 20, 41).double(), torch.rand(41, generator=DRAW).double()], dim=1)
Y = torch.sin(X[:, :1]) + X[:, 1:]
FAR, ZERO = torch.tensor([[54.0, 0.3]]).double(), torch.tensor([-6.0, 0.0]).double()


class Stretched(SingleTaskGP):
    """A user's class, whose posterior depends on a number of the class."""

    factor = 1.0

    def posterior(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        return super().posterior(self.factor * X, *args, **kwargs)


def elsewhere(self: Any, X: Any, *args: Any, posterior: Any = SingleTaskGP.posterior, **kwargs: Any) -> Any:
    return posterior(self, 1.001 * X, *args, **kwargs)


def single(kind: type[SingleTaskGP] = SingleTaskGP) -> Any:
    kernel = MaternKernel(nu=1.5)
    kernel.lengthscale = 0.02
    return kind(X, Y, covar_module=kernel, input_transform=Normalize(2)).eval()


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any, pytest.MonkeyPatch], None], str]] = {
    "number of a kernel": (single, lambda model, patch: setattr(model.covar_module, "nu", 2.5), "MaternKernel.nu"),
    "in a list": (
        lambda: ModelListGP(single(), single()),
        lambda model, patch: setattr(model.models[1].covar_module, "nu", 2.5),
        "MaternKernel.nu",
    ),
    "option of a transform": (
        single,
        lambda model, patch: setattr(model.input_transform, "transform_on_eval", False),
        "Normalize.transform_on_eval",
    ),
    "method of all models": (
        single,
        lambda model, patch: patch.setattr(SingleTaskGP, "posterior", elsewhere),
        "its own prediction",
    ),
    "number of a class": (
        lambda: single(Stretched),
        lambda model, patch: patch.setattr(Stretched, "factor", 1.001),
        "its own prediction",
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_far_from_the_points_of_a_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, change, message = CHANGES[name]
    model = make()
    prepared = gplens.read(model)
    for _ in range(2):
        gplens.explain(prepared, FAR, baseline=ZERO, support=False, tolerance=0.01)
    change(model, monkeypatch)
    with pytest.raises(ValueError, match=rf"{message}.*gplens\.read\(model\)"):
        gplens.explain(prepared, FAR, baseline=ZERO, support=False, tolerance=0.01)
