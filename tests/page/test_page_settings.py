"""200 random settings of four models: the answers of the page in a browser are those of Python."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browser import ANSWERS, opened
from live_models import L, posterior
from scipy.stats import norm

import gplens
from gplens import kernels, links
from gplens.page import write
from gplens.processes.stack import Stack

COUNT = 200
MODELS: dict[str, Any] = {
    "gaussian": (lambda: posterior(kernels.Matern52(L)), links.Identity()),
    "poisson": (lambda: posterior(kernels.RBF(L)), links.Exp()),
    "binary": (lambda: posterior(kernels.RBF(L)), links.Probit()),
    "three classes": (lambda: Stack(tuple(posterior(kernels.RBF(L), seed=i) for i in range(3))), links.Softmax()),
}


def parsed(text: str) -> dict[str, list[list[str]]]:
    """The lines of an answer by what they are."""
    found: dict[str, list[list[str]]] = {}
    for what, *rest in list(csv.reader(text.splitlines()))[1:]:
        found.setdefault(what, []).append(rest)
    return found


def number(lines: list[list[str]], column: int) -> Any:
    return np.array([float(line[column]) for line in lines])


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_every_bar_is_that_of_python(name: str, browser: Any, tmp_path: Path) -> None:
    """Prediction, interval and attributions to 1e-6 of their size; deviations where the page has them."""
    build, link = MODELS[name]
    model, baseline = build(), torch.tensor([0.3, -0.2, 0.1, 0.4], dtype=torch.float64)
    g = torch.Generator().manual_seed(3)
    rows, X = (torch.randn(count, 4, generator=g, dtype=torch.float64) for count in (12, COUNT))
    explain = {"baseline": baseline, "likelihood": link, "tolerance": 1e-9}
    path = write(gplens.explain(model, rows, **explain), tmp_path / "page.html", model=model, likelihood=link)
    e = gplens.explain(model, X, **explain)
    outputs = 1 if e.output_names is None else len(e.output_names)
    shown = [i % outputs for i in range(COUNT)]
    fragments = [
        f"tab=whatif&setting={','.join(map(repr, x))}&shown={o}" for x, o in zip(X.tolist(), shown, strict=True)
    ]
    with opened(browser, path) as tab:
        answers = list(map(parsed, tab.page.evaluate(ANSWERS, fragments)))
        tab.check_quiet(path)
    values = e.values.reshape(COUNT, outputs, -1).numpy()[np.arange(COUNT), shown]
    predictions = np.stack([number(answer["prediction"], 2) for answer in answers])
    np.testing.assert_allclose(predictions, e.prediction.reshape(COUNT, -1).numpy(), rtol=1e-6, atol=1e-9)
    ours = np.stack([number(answer["attribution"], 2) for answer in answers])
    assert np.abs(ours - values).max() <= 1e-6 * np.abs(values).max()
    ends = np.stack([np.stack([number(answer["prediction"], k) for k in (3, 4)]) for answer in answers])
    np.testing.assert_allclose(ends, interval(model, link, X), rtol=1e-6, atol=1e-9)


def interval(model: Any, link: Any, X: torch.Tensor) -> Any:
    """g at the ends of the 90 % interval of f; for classes the probability plus and minus its deviation."""
    at = model.along(gplens.lines.line.Line.at(X))
    m, v = at.m[:, :, 0], at.v[:, :, 0]
    if isinstance(link, links.Softmax):
        mean, square = class_moments(m.numpy(), v.numpy())
        deviation = np.sqrt(square - mean**2)
        return np.stack([mean - deviation, mean + deviation], axis=1)
    z = norm.ppf(0.95)
    return np.stack([link(m - z * v.sqrt()).numpy(), link(m + z * v.sqrt()).numpy()], axis=1)


def class_moments(m: Any, v: Any) -> tuple[Any, Any]:
    """E S and E S^2 of three classes by a product of Gauss-Hermite rules."""
    z, w = np.polynomial.hermite_e.hermegauss(40)
    w = w / w.sum()
    grid = np.stack(np.meshgrid(z, z, z, indexing="ij"), axis=-1).reshape(-1, 3)
    weights = np.einsum("i,j,k->ijk", w, w, w).reshape(-1)
    first, second = np.empty_like(m), np.empty_like(m)
    for i in range(len(m)):
        f = m[i] + np.sqrt(v[i]) * grid
        S = np.exp(f - f.max(1, keepdims=True))
        S /= S.sum(1, keepdims=True)
        first[i], second[i] = weights @ S, weights @ S**2
    return first, second
