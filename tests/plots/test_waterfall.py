"""Waterfalls: bars that lead from the baseline to the prediction, whiskers, sums of others, texts."""

import re

import numpy as np
import pytest
import torch
from plotted import bars, classes, counts, gaussian, heading, inputs, labels, made, posterior, segments, texts

import gplens
from gplens import plots
from gplens.links import Identity
from gplens.plots.colours import GREY, LOWERS, RAISES

FULL, DRAWS = gplens.Full(), gplens.Samples(200, seed=0)


def test_bars_lead_from_the_baseline_to_the_prediction_the_largest_first() -> None:
    e = counts()
    drawn = bars(plots.waterfall(e, row=2))
    widths = [width for _, width, _ in drawn]
    np.testing.assert_allclose(sorted(widths), sorted(e.values[2].tolist()))
    assert np.all(np.diff(np.abs(widths)) <= 0)
    assert drawn[0][0] == pytest.approx(float(e.baseline_prediction[2]))
    ends = [left + width for left, width, _ in drawn]
    np.testing.assert_allclose([left for left, _, _ in drawn[1:]], ends[:-1])
    assert ends[-1] == pytest.approx(float(e.prediction[2]), abs=1e-5)


def test_a_whisker_is_the_interval_of_the_features_own_attribution() -> None:
    e = gaussian(FULL)
    ax = plots.waterfall(e, row=1, level=0.8)
    low, high = e.interval(0.8)
    order = e.values[1].abs().argsort(descending=True)
    begins = np.array([left for left, _, _ in bars(ax)])
    np.testing.assert_allclose(segments(ax)[:, 0, 0], begins + low[1, order].numpy())
    np.testing.assert_allclose(segments(ax)[:, 1, 0], begins + high[1, order].numpy())
    assert "80 % intervals" in heading(ax)
    assert "input 1 of 6" in heading(ax)


def test_the_others_are_summed_with_the_deviation_of_the_sum() -> None:
    """sqrt(1' C 1) over the others, and an interval from quantiles of sums of draws."""
    e = counts(FULL)
    ax = plots.waterfall(e, top=2)
    order = e.values[0].abs().argsort(descending=True).tolist()
    rest = order[2:]
    assert labels(ax)[3] == "3 others"
    assert e.covariance is not None
    std = e.covariance[0][rest][:, rest].sum().sqrt()
    total = float(e.values[0, rest].sum())
    assert bars(ax)[2][1] == pytest.approx(total)
    whisker = segments(ax)[2]
    assert (whisker[1, 0] - whisker[0, 0]) / 2 == pytest.approx(float(std))
    assert "± 1 sd" in heading(ax)
    e = counts(DRAWS)
    ax = plots.waterfall(e, top=2)
    assert e.draws is not None
    ends = np.quantile(e.draws[0][:, rest].sum(1).numpy(), [0.05, 0.95])
    np.testing.assert_allclose(segments(ax)[2, :, 0] - bars(ax)[2][0], ends)


def test_without_covariances_the_others_have_no_whisker_and_the_subtitle_says_how_to_get_one() -> None:
    ax = plots.waterfall(counts(gplens.Diagonal()), top=2)
    assert len(segments(ax)) == 2
    assert "gplens.Full()" in heading(ax)
    assert "±" not in texts(ax)[3]
    assert "±" in texts(ax)[2]


def test_a_single_feature_is_never_called_others() -> None:
    assert len(bars(plots.waterfall(counts(), top=4))) == 5
    assert len(bars(plots.waterfall(counts(), top=3))) == 4


def test_labels_show_where_the_feature_came_from_and_dollars_are_dollars() -> None:
    e = counts()
    ax = plots.waterfall(e)
    shown = labels(ax)
    assert shown[0] == "baseline"
    assert shown[-1] == "prediction"
    hour = next(label for label in shown if label.startswith("hour"))
    assert "→" in hour
    assert any(label.startswith("a$b$: ") for label in shown)
    assert all(len(label) < 60 for label in shown)
    assert not any(text.get_text().count("$") > text.get_text().count(r"\$") for text in ax.get_yticklabels())


def test_of_several_outputs_the_largest_or_the_one_asked_for_is_drawn() -> None:
    e = classes()
    largest = int(e.prediction[3].argmax())
    widths = sorted(width for _, width, _ in bars(plots.waterfall(e, row=3)))
    np.testing.assert_allclose(widths, sorted(e.values[3, largest].tolist()))
    ax = plots.waterfall(e, row=3, output="class 1")
    np.testing.assert_allclose(sorted(width for _, width, _ in bars(ax)), sorted(e.values[3, 1].tolist()))
    assert "class 1" in heading(ax)
    contrast = plots.waterfall(e.contrast(0, 2), row=3)
    np.testing.assert_allclose(
        sorted(width for _, width, _ in bars(contrast)), sorted((e.values[3, 0] - e.values[3, 2]).tolist()), atol=1e-12
    )
    assert "class 0 rather than class 2" in heading(contrast)


def test_colours_are_those_of_the_sign_and_zeros_are_seen() -> None:
    e = made([[3.0, -2.0, 0.0, 0.0]], [[0.5, 0.1, 0.0, 0.0]])
    ax = plots.waterfall(e, unit="litres")
    colours = [patch.get_facecolor() for patch in ax.patches]
    from matplotlib.colors import to_rgba

    assert colours == [to_rgba(RAISES), to_rgba(LOWERS), to_rgba(GREY), to_rgba(GREY)]
    assert texts(ax)[1:5] == ["+3.00 ± 0.50", "−2.00 ± 0.10", "0 ± 0", "0 ± 0"]
    assert len(segments(ax)) == 2
    assert "litres" in ax.get_xlabel()


def test_the_support_is_a_strip_below() -> None:
    """1 - v/k at evenly spaced points, from the process itself."""
    e = gplens.explain(posterior(), inputs(3), baseline=0.2, likelihood=Identity(), support=True)
    ax = plots.waterfall(e, row=2)
    strip = next(axes for axes in ax.figure.axes if axes.get_ylabel() == "support")
    t, support = (np.asarray(part) for part in strip.lines[0].get_data())
    points = 0.2 + torch.from_numpy(t)[:, None] * (inputs(3)[2] - 0.2)
    np.testing.assert_allclose(support, 1 - posterior().v(points)[:, 0].numpy() / 1.7, atol=1e-10)
    assert len(plots.waterfall(counts()).figure.axes) == 1


def test_all_zeros_and_large_numbers_are_drawn() -> None:
    ax = plots.waterfall(made([[0.0, 0.0]]))
    ax.figure.savefig("/dev/null", format="png")
    assert texts(ax)[1:3] == ["0", "0"]
    ax = plots.waterfall(made([[1234567.0, -98765.0]]))
    assert texts(ax)[1:3] == ["+1,234,567", "−98,765"]
    ax.figure.draw_without_rendering()
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert all(re.fullmatch(r"−?\d{1,3}(,\d{3})*", tick) for tick in ticks)
    assert any("," in tick for tick in ticks)


@pytest.mark.parametrize("level", [0.0, 1.0, 1.5, -0.1, float("nan")])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(level))):
        plots.waterfall(counts(), level=level)


def test_rows_and_outputs_that_are_not_there_are_refused() -> None:
    with pytest.raises(IndexError, match="9"):
        plots.waterfall(counts(), row=9)
    with pytest.raises(ValueError, match="class 7"):
        plots.waterfall(classes(), output="class 7")
    with pytest.raises(ValueError, match="single output"):
        plots.waterfall(counts(), output=1)
    with pytest.raises(ValueError, match="top"):
        plots.waterfall(counts(), top=0)


def test_an_explanation_of_draws_on_their_own_has_intervals_of_features_alone() -> None:
    ax = plots.waterfall(counts(gplens.Samples(100, seed=0, joint=False)), top=2)
    assert len(segments(ax)) == 2
    assert torch.is_tensor(counts(gplens.Samples(100, seed=0, joint=False)).draws)
