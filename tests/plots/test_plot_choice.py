"""What `explanation.plot()` draws, on which axes, without global state; and without Matplotlib, a sentence."""

import re
import sys
from collections.abc import Callable

import pytest
from matplotlib import _pylab_helpers
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from plotted import bars, classes, counts, gaussian, heading, inputs, labels, made, posterior, texts

import gplens
from gplens import Explanation, plots
from gplens.baselines import Sample
from gplens.links import Exp
from gplens.targets import EpistemicVariance, Latent

PIXELS = tuple(f"pixel {i}" for i in range(4))


def unsure() -> Explanation:
    return gplens.explain(posterior(), inputs(2), baseline=0.0, target=EpistemicVariance())


def test_one_input_is_a_waterfall() -> None:
    assert labels(counts()[0].plot())[0] == "baseline"


def test_several_inputs_are_a_beeswarm_and_of_several_outputs_bars() -> None:
    assert any(c.get_gid() == "hour" for c in counts().plot().collections)
    assert classes().plot().get_xlabel() == "mean |attribution|"


def test_pixels_are_an_image_that_fades_if_it_can() -> None:
    sure = made([[1.0, -1.0, 2.0, 0.0]], names=PIXELS)
    assert len(sure.plot().images) == 2
    assert "not sure" not in heading(sure.plot())
    assert "not sure" in heading(made([[1.0, -1.0, 2.0, 0.0]], [[1.0] * 4], names=PIXELS).plot())
    assert not made([[1.0, -1.0, 2.0]], names=PIXELS[:3]).plot().images


def test_a_variance_is_drawn_as_what_makes_the_model_unsure() -> None:
    e = unsure()[1]
    ax = e.plot()
    assert "unsure" in heading(ax)
    deviations = re.search(r"sd ([\d.]+) at the baseline, ([\d.]+) at the input", heading(ax))
    assert deviations is not None
    ends = float(e.baseline_prediction[0]) ** 0.5, float(e.prediction[0]) ** 0.5
    assert tuple(map(float, deviations.groups())) == pytest.approx(ends, rel=5e-3)
    assert sum(width for _, width, _ in bars(ax)) == pytest.approx(
        float(e.prediction[0] - e.baseline_prediction[0]), abs=1e-5
    )
    with pytest.raises(ValueError, match="EpistemicVariance"):
        plots.uncertainty(counts())


DRAWN: dict[str, Callable[[Axes | None], Axes]] = {
    "waterfall": lambda ax: plots.waterfall(counts(), ax=ax),
    "bar": lambda ax: plots.bar(counts(), ax=ax),
    "bar of classes": lambda ax: plots.bar(classes(), ax=ax),
    "beeswarm": lambda ax: plots.beeswarm(counts(), ax=ax),
    "scatter": lambda ax: plots.scatter(counts(), "hour", colour_by="wind", ax=ax),
    "image": lambda ax: plots.image(made([[1.0, -1.0, 2.0, 0.0]]), ax=ax),
    "path": lambda ax: plots.path(counts(), posterior(), likelihood=Exp(), ax=ax),
    "ablation": lambda ax: plots.ablation(counts(), posterior(), row=0, orders=3, likelihood=Exp(), ax=ax),
    "uncertainty": lambda ax: plots.uncertainty(unsure(), ax=ax),
    "draw": lambda ax: counts().plot(ax=ax),
}


@pytest.mark.parametrize("name", DRAWN)
def test_given_axes_are_used_and_returned_and_pyplot_knows_nothing(name: str) -> None:
    given = Figure(figsize=(5, 4)).add_subplot()
    known = len(_pylab_helpers.Gcf.figs)
    assert DRAWN[name](given) is given
    own = DRAWN[name](None)
    assert own.figure is not given.figure
    assert len(_pylab_helpers.Gcf.figs) == known
    for ax in (given, own):
        text = heading(ax)
        assert "relative to" in text
        assert any(model in text for model in ("Posterior", "Stack", "Made"))
    assert own._repr_png_().startswith(b"\x89PNG")  # pyright: ignore[reportAttributeAccessIssue]


def test_titles_say_what_was_explained_relative_to_what() -> None:
    assert "Prediction of Posterior" in heading(counts().plot())
    assert "the mean of 40 rows" in heading(counts().plot())
    assert "an input of 0 in every feature" in heading(gaussian().plot())
    latent = gplens.explain(posterior(), inputs(1), baseline=Sample(inputs(1200)), target=Latent())
    assert "Latent function of Posterior" in heading(latent.plot())
    assert "the average over a background of 1,200 rows" in heading(latent.plot())
    assert "=" in texts(latent.plot())[0]
    assert all("→" not in label for label in labels(latent.plot()))


def test_without_matplotlib_a_sentence_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gplens.plots")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"matplotlib.*\[plots\]"):
        counts().plot()
