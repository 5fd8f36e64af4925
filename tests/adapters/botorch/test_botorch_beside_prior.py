"""A Reading of a BoTorch model whose tensors stay as they are, while something else that its posterior needs changes.

The numbers that change are held where no comparison of tensors sees them: in numpy arrays, or in the user's own code.
"""

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.kernels import RBFKernel, ScaleKernel
from torch import Tensor

import gplens
from gplens.adapters.botorch import predictions

X = torch.rand(12, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.sin(5 * X[:, :1]) + X[:, 1:]
Y = (Y - Y.mean()) / Y.std()
POINT = X[:1] * 0.9
HIDDEN = np.ones(1)


class OwnForward(SingleTaskGP):
    def forward(self, x: Tensor) -> Any:
        f = super().forward(x)
        return type(f)(f.mean, f.lazy_covariance_matrix * float(HIDDEN[0]))


class OwnKernel(RBFKernel):
    def forward(self, *args: Any, **options: Any) -> Any:
        return super().forward(*args, **options) * float(HIDDEN[0])


class OwnPosterior(SingleTaskGP):
    def posterior(self, X: Tensor, *args: Any, **options: Any) -> Any:
        return super().posterior(X * float(HIDDEN[0]), *args, **options)


class OwnTransform(Normalize):
    def transform(self, X: Tensor) -> Tensor:
        return super().transform(X) * float(HIDDEN[0])


class OwnOutcome(Standardize):
    def untransform_posterior(self, posterior: Any, X: Tensor | None = None) -> Any:
        return super().untransform_posterior(posterior if HIDDEN[0] == 1 else self._doubled(posterior), X)

    def _doubled(self, posterior: Any) -> Any:
        f = posterior.distribution
        return type(posterior)(type(f)(2 * f.mean, f.lazy_covariance_matrix))


def plain(kind: type[SingleTaskGP] = SingleTaskGP, **options: Any) -> SingleTaskGP:
    torch.manual_seed(0)
    model = kind(X, Y, **options)
    model.eval()
    return model


MODELS: dict[str, Callable[[], SingleTaskGP]] = {
    "forward": lambda: plain(OwnForward),
    "kernel": lambda: plain(covar_module=ScaleKernel(OwnKernel(ard_num_dims=2))),
    "posterior": lambda: plain(OwnPosterior),
}


@pytest.fixture(autouse=True)
def restored() -> Any:
    yield
    HIDDEN[0] = 1.0


def values(prepared: Any) -> Tensor:
    return gplens.explain(prepared, POINT, baseline=X.mean(0), support=False).values


@pytest.mark.parametrize("name", MODELS)
def test_a_number_that_no_tensor_holds(name: str) -> None:
    model = MODELS[name]()
    prepared = gplens.read(model)
    for _ in range(3):
        values(prepared)
    HIDDEN[0] = 1.3
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


def test_a_method_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    model = plain(outcome_transform=Standardize(m=1))
    prepared = gplens.read(model)
    for _ in range(3):
        values(prepared)
    original = SingleTaskGP.posterior

    def posterior(self: Any, X: Tensor, *args: Any, **options: Any) -> Any:
        return original(self, 1.2 * X, *args, **options)

    monkeypatch.setattr(model, "posterior", MethodType(posterior, model))
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


def test_a_transform_of_the_users_own_is_compared_by_its_predictions() -> None:
    model = plain(outcome_transform=OwnOutcome(m=1))
    try:
        prepared = gplens.read(model)
    except ValueError:
        return  # refused as a whole
    for _ in range(3):
        values(prepared)
    HIDDEN[0] = 2.0
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


def test_an_input_transform_that_changes() -> None:
    """Its class is the user's, and the map is compared with the one that was read."""
    model = plain(input_transform=OwnTransform(d=2), outcome_transform=Standardize(m=1))
    prepared = gplens.read(model)
    for _ in range(3):
        values(prepared)
    HIDDEN[0] = 1.2
    with pytest.raises(ValueError, match=r"read\(model\) again"):
        values(prepared)


@pytest.mark.parametrize("transform", [None, Normalize(d=2)], ids=["raw inputs", "Normalize"])
def test_unchanged_models_are_compared_by_their_prior(transform: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the first call; the numbers stay those of a model that is read anew."""
    model = plain(input_transform=transform, outcome_transform=Standardize(m=1))
    prepared = gplens.read(model)
    first = values(prepared)

    def never(*args: Any, **options: Any) -> Any:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(predictions, "predict", never)
        again = gplens.explain(prepared, POINT, baseline=X.mean(0))
    assert any("its prior is the one that was read" in note for note in again.provenance.notes)
    torch.testing.assert_close(again.values, first, rtol=0, atol=0)
    torch.testing.assert_close(values(model), first, rtol=1e-12, atol=1e-12)
