"""Tables in HTML: well-formed, escaped, without script, with bars and whiskers to scale."""

from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
import torch

import gplens
from gplens.columns import Cyclic
from gplens.display.card import MARGIN, WIDTH, Bars, Entry, card
from gplens.estimators import GPClassifier, GPRegressor, Training
from gplens.kernels import RBF, Linear
from gplens.links import Exp, Identity, Softmax

EVIL = '<script>alert("x")</script> & co'


def parsed(html: str) -> ElementTree.Element:
    """The tree, if all tags are closed and all special characters escaped."""
    return ElementTree.fromstring(html)


def text_of(html: str) -> str:
    class Text(HTMLParser):
        words = ""

        def handle_data(self, data: str) -> None:
            self.words += data + " "

    parser = Text()
    parser.feed(html)
    return parser.words


def posterior(features: int = 3) -> gplens.Posterior:
    X = torch.randn(12, features, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return gplens.Posterior.exact(RBF(torch.arange(1.0, features + 1, dtype=torch.float64)), X, X.sum(1), noise=0.1)


def explanation(rows: int = 4, features: int = 3, **options: object) -> gplens.Explanation:
    X = torch.randn(rows, features, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    given = {"likelihood": Identity(), "baseline": 0.0, **options}
    return gplens.explain(posterior(features), X, **given)  # pyright: ignore[reportArgumentType]


def test_bars_and_whiskers_are_to_scale() -> None:
    tree = parsed(card("title", [], [Bars("", [Entry("a", "", "", 2.0, 1.0, 4.0), Entry("b", "", "", -1.0)])]))
    pictures = tree.findall(".//svg")
    unit = (WIDTH - 2 * MARGIN) / 5  # from -1 to 4
    (bar,), whisker = pictures[0].findall("rect"), pictures[0].findall("line")[1]
    assert float(bar.attrib["x"]) == pytest.approx(MARGIN + unit, abs=0.01)
    assert float(bar.attrib["width"]) == pytest.approx(2 * unit, abs=0.01)
    assert float(whisker.attrib["x1"]) == pytest.approx(MARGIN + 2 * unit, abs=0.01)
    assert float(whisker.attrib["x2"]) == pytest.approx(MARGIN + 5 * unit, abs=0.01)
    assert float(pictures[1].findall("rect")[0].attrib["x"]) == pytest.approx(MARGIN, abs=0.01)
    assert len(pictures[1].findall("line")) == 1


def test_names_are_escaped_and_nothing_runs() -> None:
    html = explanation(feature_names=[EVIL, "b", "c"])._repr_html_()
    parsed(html)
    assert "<script" not in html
    assert 'alert("x")' in text_of(html)
    assert "prefers-color-scheme:dark" in html
    assert "currentColor" in html


def test_an_explanation_shows_the_first_inputs_and_says_how_many_more() -> None:
    e = explanation(uncertainty=gplens.Full())
    html = e._repr_html_()
    words = text_of(html)
    assert "2 more inputs" in words
    assert "90 % intervals" in words
    assert len(parsed(html).findall(".//svg")) == 6
    low, high = e.interval(0.9)
    order = e.values[0].abs().argsort(descending=True)
    ends = torch.cat([low[0], high[0], torch.zeros(1)])
    span = float(ends.max() - ends.min())
    for picture, k in zip(parsed(html).findall(".//svg")[:3], order.tolist(), strict=True):
        whisker = picture.findall("line")[1]
        length = float(whisker.attrib["x2"]) - float(whisker.attrib["x1"])
        assert length == pytest.approx(float(high[0, k] - low[0, k]) / span * (WIDTH - 2 * MARGIN), abs=0.02)


def test_many_features_are_summed() -> None:
    e = explanation(rows=1, features=30, uncertainty=gplens.Full())
    words = text_of(e._repr_html_())
    assert "20 others" in words
    assert "more inputs" not in words
    assert "Full()" in text_of(explanation(rows=1, features=30, uncertainty=gplens.Diagonal())._repr_html_())


def test_every_kind_of_explanation_has_a_table() -> None:
    stack = gplens.Stack((posterior(), posterior()))
    X = torch.ones(2, 3, dtype=torch.float64)
    classes = gplens.explain(stack, X, baseline=0.0, likelihood=Softmax())
    for e in (classes, classes.contrast(0, 1), explanation()[:0], explanation().group({"g": ["x0", "x1"]})):
        parsed(e._repr_html_())
    assert f"input 0, class {int(classes.prediction[0].argmax())}:" in text_of(classes._repr_html_())
    assert "0 inputs" in text_of(explanation()[:0]._repr_html_())
    bad = replace(explanation(likelihood=Exp()), converged=torch.zeros(4, dtype=torch.bool))
    assert "NOT CONVERGED for 4 of 4 inputs" in text_of(bad._repr_html_())


def test_a_posterior_shows_its_kernel_and_how_many_lengthscales_its_points_span() -> None:
    p = posterior()
    html = p._repr_html_()
    words = text_of(html)
    assert "1 latent function of 3 features, 12 support points" in words
    assert "RBF" in words
    spans = ((p.Z.amax(0) - p.Z.amin(0)) / torch.tensor([1.0, 2.0, 3.0])).tolist()
    widths = [float(bar.attrib["width"]) for bar in parsed(html).findall(".//rect")]
    np.testing.assert_allclose(np.array(widths) / max(widths), np.sort(spans)[::-1] / max(spans), atol=1e-3)
    X = p.Z
    other = gplens.Posterior.exact(Linear(torch.ones(3, dtype=torch.float64)), X, X.sum(1), noise=0.1)
    assert not parsed(other._repr_html_()).findall(".//rect")


def test_estimators_show_how_the_fit_went() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    model = GPRegressor(progress=False)
    assert "not fitted" in text_of(model._repr_html_())
    model.fit(X, X[:, 0])
    words = text_of(model._repr_html_())
    assert "GPRegressor, fitted" in words
    assert "exact" in words
    assert model._repr_mimebundle_() == {"text/plain": repr(model), "text/html": model._repr_html_()}
    options = {"inducing_points": 5, "training": Training(steps=3), "progress": False, "random_state": 0}
    classifier = GPClassifier(**options).fit(X, np.array(["<a>", "b", "c"] * 4))
    parsed(classifier._repr_html_())
    assert "<a>, b, c" in text_of(classifier._repr_html_())


def test_an_estimator_whose_columns_are_several_inputs_names_the_inputs() -> None:
    table = pandas.DataFrame({"hour": np.arange(12) % 6, "town": ["Bonn", "Trier", "Ulm"] * 4})
    model = GPRegressor(columns={"hour": Cyclic(24)}, random_state=0, progress=False).fit(table, np.arange(12.0))
    words = text_of(model._repr_html_())
    assert all(name in words for name in ("cos", "sin", "Bonn", "Trier", "Ulm"))
