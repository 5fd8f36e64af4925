"""Columns whose offset is large beside their spread, behind BoTorch's affine input transforms."""

from random import Random
from typing import Any

import pytest
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms.input import ChainedInputTransform, FilterFeatures, InputStandardize, Normalize

import gplens
from seeds import fresh_seed

pytestmark = pytest.mark.filterwarnings("ignore::botorch.exceptions.warnings.InputDataWarning")
GRID = 2.0**-16
"""Inputs are multiples of it, so that adding an offset of up to 2^36 changes no digit of them."""


def transform(draw: Random) -> Any:
    rules = [Normalize, InputStandardize]
    single = [lambda: Normalize(3), lambda: InputStandardize(3), lambda: Normalize(3, indices=[0, 1])]
    chained = [
        lambda: ChainedInputTransform(first=FilterFeatures(torch.tensor([0, 2])), second=draw.choice(rules)(2)),
        lambda: ChainedInputTransform(first=draw.choice(rules)(3), second=draw.choice(rules)(3)),
    ]
    return draw.choice([*single, *chained])()


def check_offset(seed: int) -> None:
    """Attributions do not change with an offset, and add up to the change of the host's own prediction."""
    draw, scale = Random(seed), 2.0 ** Random(seed).randint(0, 6)
    torch.manual_seed(seed)
    X = (torch.randn(15, 3, dtype=torch.float64) * scale / GRID).round() * GRID
    offset = torch.tensor([2.0 ** draw.randint(0, 30), 2.0 ** draw.randint(0, 30), 0.0], dtype=torch.float64)
    y, rows, baseline = (X[:, :1] / scale).sin(), X[:2] + 0.25 * scale, X[4] - 0.125 * scale
    state, results = draw.getstate(), []
    for shift in (torch.zeros_like(offset), offset):
        draw.setstate(state)
        model = SingleTaskGP(X + shift, y, input_transform=transform(draw), outcome_transform=None).eval()
        e = gplens.explain(model, rows + shift, baseline=baseline + shift)
        with torch.no_grad():
            change = model.posterior(rows + shift).mean - model.posterior((baseline + shift)[None]).mean
        results.append(e.values)
        assert float((e.values.sum(1) - change[:, 0]).abs().max()) <= 1e-5, f"seed {seed}"
    assert float((results[0] - results[1]).abs().max()) <= 1e-4, (results, f"seed {seed}")


def test_attributions_do_not_change_with_an_offset() -> None:
    for seed in range(12):
        check_offset(seed)


@pytest.mark.slow
def test_attributions_of_many_models_do_not_change_with_an_offset() -> None:
    first = fresh_seed()
    for seed in range(first, first + 200):
        check_offset(seed)
