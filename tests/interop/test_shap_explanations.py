"""Explanations in shap: the same numbers, and its plots draw them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas
import pytest
import torch

import gplens
from conformance.zoo import generator, normal
from gplens import Diagonal, Posterior, Samples, Stack
from gplens.kernels import RBF
from gplens.links import Exp, Identity, Softmax
from messages import naming

mpl.use("Agg")
pytestmark = [  # shap, when it is imported, and its beeswarm
    pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The NumPy global RNG:FutureWarning"),
]

X = normal(generator(3), 12, 4)
NAMES = ["hour", "temperature", "humidity", "wind"]


def posterior(seed: int = 1) -> Posterior:
    g = generator(seed)
    scale = torch.tensor([0.8, 1.4, 2.0, 1.1], dtype=torch.float64)
    return Posterior.exact(RBF(scale), normal(g, 8, 4), normal(g, 8), noise=0.1)


def single(**options: Any) -> gplens.Explanation:
    return gplens.explain(posterior(), X, baseline=0.0, likelihood=Exp(), feature_names=NAMES, **options)


def several() -> gplens.Explanation:
    stack = Stack((posterior(1), posterior(2), posterior(4)))
    return gplens.explain(stack, X, baseline=0.0, likelihood=Softmax(), feature_names=NAMES)


def test_numbers_and_names_are_carried_over() -> None:
    e = single()
    found = e.to_shap()
    np.testing.assert_array_equal(found.values, e.values)
    np.testing.assert_array_equal(found.base_values, e.baseline_prediction)
    np.testing.assert_array_equal(found.data, X)
    np.testing.assert_allclose(found.base_values + found.values.sum(1), e.prediction, atol=1e-8)
    assert found.feature_names == NAMES
    assert found.lower_bounds is None


def test_outputs_are_last_as_shap_has_them() -> None:
    e = several()
    found = e.to_shap()
    assert found.values.shape == (12, 4, 3)
    assert found.output_names == ["class 0", "class 1", "class 2"]
    np.testing.assert_array_equal(found[:, :, 2].values, e.values[:, 2])
    np.testing.assert_array_equal(found[:, :, 2].base_values, e.baseline_prediction[:, 2])


def test_bounds_are_the_interval() -> None:
    drawn = single(uncertainty=Samples(50, seed=0))
    gaussian = gplens.explain(posterior(), X, baseline=0.0, likelihood=Identity(), uncertainty=Diagonal())
    for e in (drawn, gaussian):
        lower, upper = e.interval(0.8)
        found = e.to_shap(level=0.8)
        np.testing.assert_array_equal(found.lower_bounds, lower)
        np.testing.assert_array_equal(found.upper_bounds, upper)
    assert single(uncertainty=Diagonal()).to_shap().lower_bounds is None  # skewed, and not drawn


def waterfall(shap: Any, found: Any) -> None:
    shap.plots.waterfall(found[0], show=False)


def bar(shap: Any, found: Any) -> None:
    shap.plots.bar(found, show=False)


def beeswarm(shap: Any, found: Any) -> None:
    shap.plots.beeswarm(found, show=False, plot_size=None)


@pytest.mark.parametrize("kind", ["single", "with bounds", "one of several"])
@pytest.mark.parametrize("plot", [waterfall, bar, beeswarm], ids=lambda plot: plot.__name__)
def test_plots_draw(plot: Callable[[Any, Any], None], kind: str, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt
    import shap

    found = {
        "single": lambda: single().to_shap(),
        "with bounds": lambda: single(uncertainty=Samples(50, seed=0)).to_shap(),
        "one of several": lambda: several().to_shap()[:, :, 1],
    }[kind]()
    plt.figure()
    plot(shap, found)
    labels = {text.get_text() for text in plt.gcf().findobj(mpl.text.Text)}
    plt.savefig(tmp_path / "plot.png", bbox_inches="tight")
    plt.close("all")
    assert any("temperature" in label for label in labels)
    assert (tmp_path / "plot.png").stat().st_size > 5000


def test_the_explainer_is_called_as_shaps() -> None:
    from gplens.shap import Explainer

    explainer = Explainer(posterior(), baseline=0.0, likelihood=Exp(), feature_names=NAMES)
    found = explainer(X)
    np.testing.assert_array_equal(found.values, single().to_shap().values)
    assert found.feature_names == NAMES
    bounded = Explainer(posterior(), baseline=0.0, likelihood=Exp(), uncertainty=Samples(20, seed=0), level=0.5)(X)
    assert (bounded.lower_bounds < bounded.upper_bounds).all()


def test_the_explainer_wants_a_baseline() -> None:
    from gplens.shap import Explainer

    with pytest.raises(ValueError, match=naming("baseline", "None", "gplens.baselines.Mean(X_train)")):
        Explainer(posterior(), baseline=None)


BACKGROUND = normal(generator(9), 6, 4)


def explainer(*args: Any, **options: Any) -> Any:
    from gplens.shap import Explainer

    return Explainer(posterior(), *args, likelihood=Exp(), **options)


def test_a_background_is_the_second_argument_or_a_masker() -> None:
    """As shap has it: a table in the second place, a masker, what shap.sample and an even shap.kmeans return."""
    import shap

    expected = gplens.explain(posterior(), X, baseline=gplens.baselines.Sample(BACKGROUND), likelihood=Exp())
    table = BACKGROUND.numpy()
    dense = shap.kmeans(table, 6)
    dense.data, dense.weights = table, np.ones(6) / 6
    forms = [
        explainer(table),
        explainer(pandas.DataFrame(table)),
        explainer(gplens.baselines.Sample(table)),
        explainer(shap.maskers.Independent(table)),
        explainer(masker=shap.maskers.Independent(table)),
        explainer(masker=table),
        explainer(dense),
    ]
    for form in forms:
        np.testing.assert_allclose(form.shap_values(X), expected.values, rtol=1e-10)
        assert form.expected_value == pytest.approx(float(expected.baseline_prediction[0]), rel=1e-10)


def test_values_and_base_values_have_shaps_layout() -> None:
    from gplens.shap import Explainer

    stack = Stack((posterior(1), posterior(2), posterior(4)))
    made = Explainer(stack, BACKGROUND, likelihood=Softmax(), feature_names=NAMES)
    found, values, base = made(X), made.shap_values(X), made.expected_value
    assert values.shape == (12, 4, 3)
    assert base.shape == (3,)
    np.testing.assert_array_equal(values, found.values)
    np.testing.assert_allclose(np.broadcast_to(base, (12, 3)), found.base_values, atol=1e-9)
    prediction = gplens.explain(stack, X, baseline=0.0, likelihood=Softmax()).prediction
    np.testing.assert_allclose(base + values.sum(1), prediction, atol=1e-8)
    assert found.feature_names == NAMES


def test_a_base_value_of_every_row_is_in_the_explanation() -> None:
    assert explainer(baseline=0.0).expected_value == pytest.approx(float(single().baseline_prediction[0]))
    by_row = explainer(baseline=gplens.baselines.Rows(X + 1.0))
    with pytest.raises(ValueError, match=naming("expected_value", "explainer(X).base_values")):
        _ = by_row.expected_value
    assert len(set(by_row(X).base_values.tolist())) == 12


def test_a_background_of_another_kind_is_refused() -> None:
    import shap

    with pytest.raises(ValueError, match=naming("background", "masker", "baseline")):
        explainer(BACKGROUND, baseline=0.0)
    with pytest.raises(TypeError, match=naming("Partition", "shap.maskers.Independent(X)")):
        explainer(shap.maskers.Partition(BACKGROUND.numpy()))
    with pytest.raises(TypeError, match=naming("DenseData", "weights")):
        explainer(shap.kmeans(normal(generator(2), 30, 4).numpy(), 4))


def test_axes_of_shaps_plots_can_be_named_after_what_they_show() -> None:
    import matplotlib.pyplot as plt
    import shap

    from gplens.shap import relabel

    found = single().to_shap()
    for draw in (shap.plots.bar, shap.plots.beeswarm):
        ax = relabel(draw(found, show=False), unit="bikes")
        assert "attribution" in ax.get_xlabel()
        assert ax.get_xlabel().endswith("(bikes)")
        assert not any("SHAP" in text.get_text() for text in ax.figure.findobj(mpl.text.Text))
        plt.close("all")
