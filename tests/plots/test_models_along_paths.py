"""Paths and ablations: the curves of a model, against dense formulas in numpy and against all subsets."""

import itertools

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from plotted import NAMES, classes, counts, heading, inputs, posterior, stack
from scipy.special import softmax
from scipy.stats import norm

import gplens
from gplens import plots
from gplens.baselines import Mean, Sample
from gplens.links import Exp, Identity, Softmax
from gplens.plots.explained import Explained
from gplens.plots.removal import even_counts, removed
from gplens.targets import EpistemicVariance, Latent

EXP = {"likelihood": Exp()}


def dense(X: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """m and v of plotted.posterior by the textbook formula."""
    Z = posterior(seed).Z.numpy()
    y = np.sin(Z[:, 0]) + 0.5 * Z[:, 1] * Z[:, 2] - 0.3 * Z[:, -1]

    def k(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return 1.7 * np.exp(-(((a[:, None] - b) / np.linspace(1, 3, 5)) ** 2).sum(2) / 2)

    solved = np.linalg.solve(k(Z, Z) + 0.05 * np.eye(len(Z)), np.column_stack([y, k(Z, X)]))
    return k(X, Z) @ solved[:, 0], 1.7 - np.einsum("ij,ji->i", k(X, Z), solved[:, 1:])


def on_path(row: int, t: np.ndarray) -> np.ndarray:
    e = counts()
    x0, x = e.baseline[row].numpy(), e.inputs[row].numpy()
    return x0 + t[:, None] * (x - x0)


def test_the_path_shows_the_prediction_its_quantiles_and_the_support() -> None:
    """E exp(f) = exp(m + v/2); the quantiles of exp(f) are exp of those of f; 1 - v/k."""
    e = counts()
    ax = plots.path(e, posterior(), row=3, level=0.8, **EXP)
    t, value = (np.asarray(part) for part in ax.lines[0].get_data())
    m, v = dense(on_path(3, t))
    np.testing.assert_allclose(value, np.exp(m + v / 2), rtol=1e-8)
    explained = Explained.of(e, posterior(), None, **EXP)
    course = explained.along(e.baseline[3], e.inputs[3], torch.from_numpy(t), 0.8)
    assert course.band is not None
    for end, tail in zip(course.band, (0.1, 0.9), strict=True):
        np.testing.assert_allclose(end.numpy(), np.exp(m + norm.ppf(tail) * np.sqrt(v)), rtol=2e-3)
    strip = next(axes for axes in ax.figure.axes if axes.get_ylabel() == "support")
    np.testing.assert_allclose(np.asarray(strip.lines[0].get_ydata()), 1 - v / 1.7, atol=1e-8)
    least = int((1 - v / 1.7).argmin())
    assert any(f"t = {t[least]:.2g}" in text.get_text() for text in strip.texts)
    assert "80 % band" in heading(ax)


def test_the_band_of_a_class_is_that_of_its_random_probability() -> None:
    e = classes()
    explained = Explained.of(e, stack(), 1, likelihood=Softmax())
    x0, x = e.baseline[0], e.inputs[0]
    course = explained.along(x0, x, torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64), 0.9)
    points = np.stack([x0.numpy(), ((x0 + x) / 2).numpy(), x.numpy()])
    m, v = (np.stack(part, axis=1) for part in zip(*(dense(points, seed) for seed in range(3)), strict=True))
    draws = m + np.sqrt(v) * np.random.default_rng(0).normal(size=(40_000, 3, 3))
    S = softmax(draws, axis=2)[:, :, 1]
    assert course.band is not None
    np.testing.assert_allclose(course.value.numpy(), S.mean(0), atol=5e-3)
    np.testing.assert_allclose(course.band[0].numpy(), np.quantile(S, 0.05, axis=0), atol=1e-2)
    np.testing.assert_allclose(course.band[1].numpy(), np.quantile(S, 0.95, axis=0), atol=1e-2)


def test_contrasts_and_variances_have_paths_too() -> None:
    contrast = classes().contrast(0, 2)
    ax = plots.path(contrast, stack(), contrast=("class 0", "class 2"), likelihood=Softmax())
    ends = np.asarray(ax.lines[0].get_ydata())[[0, -1]]
    np.testing.assert_allclose(ends, [float(contrast.baseline_prediction[0]), float(contrast.prediction[0])], atol=1e-7)
    unsure = gplens.explain(posterior(), inputs(2), baseline=0.0, target=EpistemicVariance())
    ax = plots.path(unsure, posterior(), target=EpistemicVariance())
    assert "no band" in heading(ax)


@pytest.mark.parametrize("place", [None, (0.1, 0.5, 0.8, 0.4)])
def test_the_support_is_below_given_axes(place: tuple[float, ...] | None) -> None:
    """Also below axes that are in no grid of subplots."""
    figure = Figure()
    given = figure.add_subplot() if place is None else figure.add_axes(place)
    plots.path(counts(), posterior(), ax=given, **EXP)
    strip = next(axes for axes in (*figure.axes, *given.child_axes) if axes.get_ylabel() == "support")
    figure.draw_without_rendering()
    assert strip.get_window_extent().y1 < given.get_window_extent().y0


def test_functions_have_no_support_and_without_a_variance_no_band() -> None:
    model = gplens.Functions(lambda x: x.sum(1) ** 2, features=2)
    e = gplens.explain(model, torch.ones(1, 2, dtype=torch.float64), baseline=0.0, target=Latent())
    ax = plots.path(e, model, target=Latent())
    np.testing.assert_allclose(np.asarray(ax.lines[0].get_ydata())[-1], 4.0)
    assert len(ax.figure.axes) == 1


@pytest.mark.parametrize("plot", [plots.path, plots.ablation])
def test_another_model_is_refused(plot: object) -> None:
    with pytest.raises(ValueError, match="likelihood="):
        plot(counts(), posterior(), row=0, likelihood=Identity())  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValueError, match="predicts"):
        plot(counts(), posterior(1), row=0, **EXP)  # pyright: ignore[reportCallIssue]
    grouped = counts().group({"weather": ["temperature", "wind"]})
    with pytest.raises(ValueError, match="group"):
        plot(grouped, posterior(), row=0, **EXP)  # pyright: ignore[reportCallIssue]


def test_a_background_has_no_single_path() -> None:
    e = gplens.explain(posterior(), inputs(2), baseline=Sample(inputs(3)), **EXP)
    with pytest.raises(ValueError, match="3 rows"):
        plots.path(e, posterior(), **EXP)


def test_ablation_replaces_features_in_the_order_of_attribution() -> None:
    """Curves from dense predictions of inputs that were replaced one by one; all end on the sum."""
    e = counts()
    ax = plots.ablation(e, gplens.read(posterior(), Exp()), row=2, unit="bikes")
    curve = next(line for line in ax.lines if line.get_label() == "order of attribution")
    x, x0 = e.inputs[2].numpy().copy(), e.baseline[2].numpy()
    states = [x.copy()]
    for k in sorted(range(5), key=lambda k: -float(e.values[2, k])):
        x[k] = x0[k]
        states.append(x.copy())
    m, v = dense(np.stack(states))
    target = np.exp(m + v / 2)
    np.testing.assert_allclose(np.asarray(curve.get_ydata()), target[0] - target, rtol=1e-8, atol=1e-9)
    assert float(np.asarray(curve.get_ydata())[-1]) == pytest.approx(float(e.values[2].sum()), abs=1e-5)
    total = next(line for line in ax.lines if line.get_label() == "sum of attributions")
    assert float(np.asarray(total.get_ydata())[0]) == pytest.approx(float(e.values[2].sum()))


def test_random_orders_average_to_the_mean_over_all_subsets() -> None:
    e = counts()
    explained = Explained.of(e, posterior(), None, **EXP)
    removal = removed(e, explained, None, [1], 3000, 0)
    x, x0 = e.inputs[1].numpy(), e.baseline[1].numpy()
    subsets = [np.isin(np.arange(5), chosen) for chosen in itertools.combinations(range(5), 2)]
    m, v = dense(np.stack([x, *(np.where(subset, x0, x) for subset in subsets)]))
    target = np.exp(m + v / 2)
    lost = target[0] - target[1:]
    assert float(removal.random.mean(0)[2]) == pytest.approx(lost.mean(), abs=4 * lost.std() / 3000**0.5)
    again = removed(e, explained, None, [1], 3000, 0)
    assert torch.equal(again.random, removal.random)


def test_several_inputs_are_averaged_and_unchanged_features_left_out() -> None:
    X = inputs(3)
    X[:, 2] = 0.0
    e = gplens.explain(posterior(), X, baseline=0.0, feature_names=NAMES, **EXP)
    ax = plots.ablation(e, posterior(), orders=5, **EXP)
    curve = next(line for line in ax.lines if line.get_label() == "order of attribution")
    assert np.asarray(curve.get_xdata()).tolist() == [0, 1, 2, 3, 4]
    assert float(np.asarray(curve.get_ydata())[-1]) == pytest.approx(float(e.values.sum(1).mean()), abs=1e-5)
    assert "mean over 3 inputs" in heading(ax)


def test_a_background_is_averaged_over() -> None:
    e = gplens.explain(posterior(), inputs(1), baseline=Sample(inputs(4)[1:]), **EXP)
    ax = plots.ablation(e, posterior(), orders=3, **EXP)
    curve = next(line for line in ax.lines if line.get_label() == "order of attribution")
    assert float(np.asarray(curve.get_ydata())[-1]) == pytest.approx(float(e.values.sum()), abs=1e-5)


def test_an_input_at_its_baseline_loses_nothing() -> None:
    X = posterior().Z.mean(0, keepdim=True)
    e = gplens.explain(posterior(), X, baseline=Mean(posterior().Z), **EXP)
    ax = plots.ablation(e, posterior(), **EXP)
    assert all(float(np.abs(np.asarray(line.get_ydata())).max()) < 1e-12 for line in ax.lines[:2])
    assert even_counts(0, 64).tolist() == [0]
