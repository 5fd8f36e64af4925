"""Categories that the user names: blocks of columns of any model, names of codes, and what is printed."""

import numpy as np
import pytest
import torch

import gplens
from category_models import by_definition, mixed, scattered
from gplens import links
from gplens.kernels import RBF
from messages import naming

NAMES = ["size", "hot", "colour_red", "colour_blue"]
BLOCK = {"colour": ["colour_red", "colour_blue"]}


def posterior() -> gplens.Posterior:
    """An RBF kernel, which knows nothing of categories."""
    X = torch.cat([scattered(1, [2], 20, 8), torch.eye(2).repeat(10, 1).double()], dim=1)
    y = torch.sin(3 * X[:, 0]) * X[:, 2] + X[:, 1] * X[:, 3]
    return gplens.Posterior.exact(RBF(torch.tensor([0.5, 1.0, 0.8, 0.8]).double()), X, y, noise=0.01)


X, X0 = np.array([[0.9, 1.0, 1.0, 0.0], [0.4, 0.0, 1.0, 0.0]]), np.array([0.2, 0.0, 0.0, 1.0])


def function(x: torch.Tensor) -> torch.Tensor:
    return torch.exp(torch.sin(3 * x[:, 0]) * x[:, 2] + x[:, 1] * x[:, 3] * x[:, 0] + 0.3 * x[:, 1])


def blockwise(x: np.ndarray) -> np.ndarray:
    """T of (size, hot, code of the colour)."""
    rows = np.concatenate([x[:, :2], np.eye(2)[x[:, 2].astype(int)]], axis=1)
    return function(torch.as_tensor(rows)).numpy()


def test_a_block_of_columns_and_a_column_of_any_model() -> None:
    """Against (10.1) term by term, of a function that no kernel describes."""
    process = gplens.Functions(function, features=4)
    explanation = gplens.explain(
        process,
        X,
        baseline=X0,
        likelihood=links.Identity(),
        feature_names=NAMES,
        categories={**BLOCK, "hot": {0: "no", 1: "yes"}},
    )
    assert explanation.feature_names == ("size", "hot", "colour")
    codes, code0 = np.array([[0.9, 1.0, 0.0], [0.4, 0.0, 0.0]]), np.array([0.2, 0.0, 1.0])
    truth = np.stack([by_definition(blockwise, code0, x, [1, 2]) for x in codes])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=2e-6)
    assert "hot    = yes (from no)" in repr(explanation)
    assert "colour = red (from blue)" in repr(explanation)
    assert "red" in explanation[0]._repr_html_()


def test_error_bars_of_declared_blocks_satisfy_the_second_completeness_law() -> None:
    """sum_jk Cov(IG_j, IG_k) = Var(f(x) - f(x0))  (5.3), for a kernel that does not factorise."""
    gp = posterior()
    explanation = gplens.explain(
        gp, X, baseline=X0, likelihood=links.Identity(), feature_names=NAMES, categories=BLOCK, uncertainty=True
    )
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    for i, x in enumerate(X):
        ends = torch.as_tensor(np.stack([x, X0]))
        C = gp.c(ends, ends)[:, 0]
        change = float(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        assert float(explanation.spread.covariance[i].sum()) == pytest.approx(change, rel=1e-8)


def test_names_of_codes_in_pictures_and_frames() -> None:
    colours = {0: "red", 1: "green", 2: "blue"}
    explanation = gplens.explain(
        mixed(),
        np.array([[0.9, 0.2, 1.0, 2.0]]),
        baseline=np.array([0.4, 0.5, 0.0, 2.0]),
        feature_names=["a", "b", "colour", "kind"],
        categories={"colour": colours},
        support=False,
    )
    labels = [text.get_text() for text in gplens.plots.waterfall(explanation).get_yticklabels()]
    assert "colour: red → green" in labels
    frame = explanation.to_frame()
    assert set(frame[frame["feature"] == "colour"]["input_label"]) == {"green"}


def test_mistakes() -> None:
    gp, asked = posterior(), {"baseline": X0, "likelihood": links.Identity(), "feature_names": NAMES}
    with pytest.raises(ValueError, match=naming("shape", "size")):
        gplens.explain(gp, X, categories=["shape"], **asked)
    with pytest.raises(TypeError, match=naming("categories")):
        gplens.explain(gp, X, categories="hot", **asked)
    with pytest.raises(ValueError, match=naming("hot", "1")):
        gplens.explain(gp, X, categories={"hot": {0: "no"}}, **asked)
    with pytest.raises(ValueError, match=naming("colour", "green")):
        gplens.explain(gp, X, categories={"colour": ["green"]}, **asked)
