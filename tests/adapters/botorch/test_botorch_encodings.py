"""Input transforms that encode categories or round numbers: attributions add up, and equal (10.1) term by term."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.kernels.categorical import CategoricalKernel
from botorch.models.transforms.input import (
    ChainedInputTransform,
    Normalize,
    NumericToCategoricalEncoding,
    OneHotToNumeric,
    Round,
)
from gpytorch.kernels import MaternKernel, ScaleKernel
from torch import Tensor
from torch.nn.functional import one_hot

import gplens
from category_models import by_definition, mean_of, scattered

COUNT = 24


def coded() -> tuple[Tensor, Tensor]:
    """Two numbers and one category of three levels."""
    X = scattered(2, [3], COUNT, 5)
    return X, torch.sin(4 * X[:, :1]) + X[:, 1:2] * (X[:, 2:] == 1) - X[:, 2:]


def quiet(kind: Any, *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings(action="ignore"):  # on the scales of inputs
        return kind(*arguments, **options).eval()


def from_one_hot() -> Any:
    """Inputs with a one-hot block, which the model turns into codes."""
    X, Y = coded()
    hot = torch.cat([X[:, :2], one_hot(X[:, 2].long(), 3).double()], dim=1)
    kernel = MaternKernel(nu=2.5, active_dims=[0, 1]) * CategoricalKernel(active_dims=[2])
    inputs = OneHotToNumeric(dim=5, categorical_features={2: 3})
    return quiet(SingleTaskGP, hot, Y, covar_module=ScaleKernel(kernel), input_transform=inputs)


def to_vectors(*, descriptors: bool) -> Any:
    """Codes, which the model turns into a one-hot block or into descriptors."""
    X, Y = coded()
    table = torch.tensor([[0.0, 1.0], [0.7, 0.2], [0.9, 0.8]]).double()
    encoder, size = (lambda code: table[code], 2) if descriptors else (partial(one_hot, num_classes=3), 3)
    encode = NumericToCategoricalEncoding(dim=3, categorical_features={2: size}, encoders={2: encoder})
    scaled = ChainedInputTransform(encode=encode, scale=Normalize(d=2 + size, indices=[0, 1]))
    return quiet(SingleTaskGP, X, Y, input_transform=scaled)


HOT = np.array([[0.9, 0.2, 0.0, 0.0, 1.0], [0.3, 0.4, 0.0, 1.0, 0.0]]), np.array([0.2, 0.6, 1.0, 0.0, 0.0])
CODES = np.array([[0.9, 0.2, 2.0], [0.3, 0.4, 1.0]]), np.array([0.2, 0.6, 0.0])


def test_one_hot_blocks_that_become_codes() -> None:
    """The same as a model of codes; a block is switched at once, and its attribution is in its first column."""
    model, (X, x0) = from_one_hot(), HOT
    explanation = gplens.explain(model, X, baseline=x0, support=False)
    T = mean_of(model)

    def of_codes(x: np.ndarray) -> np.ndarray:
        return T(np.concatenate([x[:, :2], np.eye(3)[x[:, 2].astype(int)]], axis=1))

    truth = np.stack([by_definition(of_codes, CODES[1], x, [2]) for x in CODES[0]])
    np.testing.assert_allclose(explanation.values[:, :3].numpy(), truth, atol=2e-7)
    np.testing.assert_allclose(explanation.values.sum(1).numpy(), T(X) - T(x0[None]), atol=1e-8)
    assert not bool(explanation.values[:, 3:].any())


@pytest.mark.parametrize("descriptors", [False, True])
def test_codes_that_become_vectors(descriptors: bool) -> None:
    model, (X, x0) = to_vectors(descriptors=descriptors), CODES
    explanation, T = gplens.explain(model, X, baseline=x0, uncertainty=gplens.Full(), support=False), mean_of(model)
    truth = np.stack([by_definition(T, x0, x, [2]) for x in X])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=2e-7)
    np.testing.assert_allclose(explanation.values.sum(1).numpy(), T(X) - T(x0[None]), atol=1e-8)
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    for i, x in enumerate(X):
        with torch.no_grad():
            C = model.posterior(torch.as_tensor(np.stack([x, x0]))).distribution.covariance_matrix
        change = float(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        assert float(explanation.spread.covariance[i].sum()) == pytest.approx(change, rel=1e-6)


def test_rounded_numbers_go_straight_through() -> None:
    """As the same model without Round: it rounds nothing at whole numbers, and its path is not rounded."""
    X = torch.cat([scattered(1, [], COUNT, 6), scattered(0, [9], COUNT, 7)], dim=1)
    Y = torch.sin(3 * X[:, :1]) + 0.1 * (X[:, 1:] - 4) ** 2
    rounded = quiet(SingleTaskGP, X, Y, input_transform=Round(integer_indices=[1]))
    plain = quiet(SingleTaskGP, X, Y)
    inputs, x0 = np.array([[0.8, 7.0], [0.1, 2.0]]), np.array([0.5, 4.0])
    explanation = gplens.explain(rounded, inputs, baseline=x0, support=False)
    expected = gplens.explain(plain, inputs, baseline=x0, support=False)
    torch.testing.assert_close(explanation.values, expected.values, atol=1e-10, rtol=0)
    T = mean_of(rounded)
    np.testing.assert_allclose(explanation.values.sum(1).numpy(), T(inputs) - T(x0[None]), atol=1e-8)
    at_once = gplens.explain(rounded, inputs, baseline=x0, categories=["x1"], support=False)
    truth = np.stack([by_definition(T, x0, x, [1]) for x in inputs])
    np.testing.assert_allclose(at_once.values.numpy(), truth, atol=2e-7)


def test_rounding_between_two_scales() -> None:
    """BoTorch's recipe for the unit cube: undo the scale, round, scale again; with a one-hot block beside."""
    bounds = torch.tensor([[0.0, 0.0, 0.0, 0.0], [1.0, 8.0, 1.0, 1.0]]).double()
    raw = torch.cat([scattered(1, [], COUNT, 6), scattered(0, [9], COUNT, 7), torch.eye(2).repeat(12, 1)], dim=1)
    Y = torch.sin(3 * raw[:, :1]) + 0.1 * (raw[:, 1:2] - 4) ** 2 * raw[:, 2:3]
    steps = ChainedInputTransform(
        back=Normalize(d=4, bounds=bounds, reverse=True),
        round=Round(integer_indices=[1], categorical_features={2: 2}),
        scale=Normalize(d=4, bounds=bounds),
    )
    model = quiet(SingleTaskGP, raw / bounds[1], Y, input_transform=steps)
    inputs, x0 = np.array([[0.8, 0.875, 1.0, 0.0]]), np.array([0.5, 0.5, 0.0, 1.0])
    names = ["a", "n", "hot", "cold"]
    explanation = gplens.explain(
        model, inputs, baseline=x0, feature_names=names, categories={"kind": ["hot", "cold"]}, support=False
    )
    T = mean_of(model)
    assert explanation.feature_names == ("a", "n", "kind")
    assert float(explanation.values.sum()) == pytest.approx(float((T(inputs) - T(x0[None]))[0]), abs=1e-8)
    assert abs(float(explanation.values[0, 2])) > 1e-3
