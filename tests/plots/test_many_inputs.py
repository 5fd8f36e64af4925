"""Bars, beeswarms and scatters: what is drawn of many inputs."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgba
from plotted import NAMES, bars, classes, counts, gaussian, heading, labels, made, segments

import gplens
from gplens import plots
from gplens.adapters.labels import EntryTexts, Labels
from gplens.plots.beeswarm import swarm
from gplens.plots.colours import GREY
from messages import naming

FULL = gplens.Full()


def test_bars_of_one_input_are_its_attributions_with_intervals() -> None:
    e = gaussian(FULL)[1]
    ax = plots.bar(e)
    order = e.values[0].abs().argsort(descending=True)
    np.testing.assert_allclose([width for _, width, _ in bars(ax)], e.values[0, order].numpy())
    low, high = e.interval(0.9)
    np.testing.assert_allclose(segments(ax)[:, :, 0], np.stack([low[0, order], high[0, order]], axis=1))


def test_bars_of_several_inputs_are_mean_sizes_with_the_bound_of_their_deviation() -> None:
    e = counts(FULL)
    ax = plots.bar(e, top=3)
    sizes = e.values.abs().mean(0)
    order = sizes.argsort(descending=True)
    widths = [width for _, width, _ in bars(ax)]
    np.testing.assert_allclose(widths[:3], sizes[order[:3]].numpy())
    assert widths[3] == pytest.approx(float(sizes[order[3:]].sum()))
    assert e.std is not None
    bound = e.std.mean(0)[order]
    np.testing.assert_allclose(segments(ax)[:3, 1, 0], (sizes[order] + bound).numpy()[:3])
    assert len(segments(ax)) == 3  # the sum of the others needs joint draws
    assert "at most" in heading(ax)
    assert "6 inputs" in heading(ax)
    assert labels(ax)[-1] == "2 others"


def test_the_deviation_of_a_mean_of_sizes_is_at_most_the_mean_of_the_deviations() -> None:
    """For rows that are independent, correlated and equal."""
    generator = np.random.default_rng(0)
    for mix in (np.eye(4), generator.normal(size=(4, 4)), np.ones((4, 4))):
        draws = generator.normal(size=4) + generator.normal(size=(20_000, 4)) @ mix
        assert np.abs(draws).mean(1).std() <= draws.std(0).mean() + 1e-12


def test_bars_of_several_outputs_stand_beside_each_other() -> None:
    e = classes()
    ax = plots.bar(e)
    drawn = np.array([width for _, width, _ in bars(ax)]).reshape(3, 5)
    order = e.values.abs().mean((0, 1)).argsort(descending=True)
    np.testing.assert_allclose(drawn, e.values.abs().mean(0)[:, order].numpy())
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["class 0", "class 1", "class 2"]
    single = plots.bar(e, output=2)
    np.testing.assert_allclose([w for _, w, _ in bars(single)], np.sort(e.values[:, 2].abs().mean(0).numpy())[::-1])


def test_a_beeswarm_has_a_point_and_a_whisker_for_each_input_and_feature() -> None:
    e = gaussian(FULL)
    ax = plots.beeswarm(e)
    order = e.values.abs().mean(0).argsort(descending=True).tolist()
    low, high = e.interval(0.9)
    points = {c.get_gid(): np.asarray(c.get_offsets()) for c in ax.collections if c.get_gid() in NAMES}
    for i, k in enumerate(order):
        np.testing.assert_allclose(points[NAMES[k]][:, 0], e.values[:, k].numpy())
        assert np.all(np.abs(points[NAMES[k]][:, 1] - i) < 0.5)
        own = segments(ax)[6 * i : 6 * i + 6]
        np.testing.assert_allclose(own[:, 0, 0], low[:, k].numpy())
        np.testing.assert_allclose(own[:, 1, 0], high[:, k].numpy())
    assert "90 % intervals" in heading(ax)


def test_equal_attributions_are_drawn_beside_each_other_within_their_row() -> None:
    offsets = swarm(np.zeros(50), 1.0)
    assert len(np.unique(offsets)) == 50
    assert np.abs(offsets).max() < 0.5
    np.testing.assert_allclose(swarm(np.array([0.0, 1.0, 2.0]), 2.0), 0)


def test_colours_follow_the_value_and_a_constant_is_grey() -> None:
    e = made([[1.0, 2.0, 3.0], [2.0, -1.0, 1.0], [0.0, 1.0, 2.0]])
    e.inputs[:, 0] = 4.0
    ax = plots.beeswarm(e)
    colours = {c.get_gid(): c.get_facecolor() for c in ax.collections if c.get_gid() in e.feature_names}
    np.testing.assert_allclose(colours["x0"], np.tile(to_rgba(GREY), (3, 1)))
    assert len(np.unique(colours["x1"], axis=0)) == 3


def test_the_sum_of_others_is_a_row_of_a_beeswarm() -> None:
    e = counts(FULL)
    ax = plots.beeswarm(e, top=2)
    assert labels(ax)[-1] == "3 others"
    rest = e.values.abs().mean(0).argsort(descending=True)[2:]
    points = next(c for c in ax.collections if c.get_gid() == "3 others")
    np.testing.assert_allclose(np.asarray(points.get_offsets())[:, 0], e.values[:, rest].sum(1).numpy())
    assert len(segments(ax)) == 18
    assert len(segments(plots.beeswarm(counts(gplens.Diagonal()), top=2))) == 12


def test_a_scatter_has_values_attributions_and_intervals() -> None:
    e = gaussian(FULL)
    ax = plots.scatter(e, "temperature", colour_by="wind", unit="K")
    points = np.asarray(ax.collections[-1].get_offsets())
    np.testing.assert_allclose(points, np.stack([e.inputs[:, 1], e.values[:, 1]], axis=1))
    low, high = e.interval(0.9)
    np.testing.assert_allclose(segments(ax)[:, :, 1], np.stack([low[:, 1], high[:, 1]], axis=1))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("temperature", "attribution of temperature (K)")
    assert any("baseline 0" in text.get_text() for text in ax.texts)


def test_a_scatter_of_a_feature_that_has_no_value_is_refused() -> None:
    grouped = gaussian(FULL).group({"weather": ["temperature", "wind"]})
    with pytest.raises(ValueError, match="weather"):
        plots.scatter(grouped, "weather")
    with pytest.raises(ValueError, match="humidity"):
        plots.scatter(grouped, "hour", colour_by="humidity")
    e = made([[1.0, 2.0], [2.0, 1.0]])
    plots.scatter(e, "x0", colour_by="x1")
    texts = EntryTexts.of([[None, "Old Town"], [None, None]])
    cities = replace(e, inputs=torch.tensor([[1.0, 2.0], [torch.nan, 1.0]]).double(), labels=Labels(inputs=texts))
    with pytest.raises(ValueError, match=naming("x0", "Old Town", 1)):
        plots.scatter(cities, "x0")


@pytest.mark.parametrize("plot", [plots.beeswarm, lambda e: plots.scatter(e, "hour")])
def test_several_outputs_need_the_name_of_one(plot: object) -> None:
    with pytest.raises(ValueError, match="class 1"):
        plot(classes())  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("plot", [plots.bar, plots.beeswarm])
def test_no_inputs_are_refused(plot: object) -> None:
    with pytest.raises(ValueError, match="none"):
        plot(counts()[:0])  # pyright: ignore[reportCallIssue]


def test_three_hundred_features_fit() -> None:
    values = np.random.default_rng(0).normal(size=(20, 300))
    e = made(values, np.ones_like(values))
    for ax in (plots.bar(e), plots.beeswarm(e), plots.waterfall(e)):
        assert "288 others" in labels(ax)
        assert ax.figure.get_size_inches()[1] < 9
