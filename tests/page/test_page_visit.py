"""What a visitor does: rows, classes, sorting, filtering, pins, slices, links; quietly and without the network."""

from pathlib import Path
from typing import Any

import pytest
import torch
from browser import opened
from live_models import L, posterior

import gplens
from gplens import kernels, links
from gplens.page import write
from gplens.processes.stack import Stack

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '=HYPERLINK("http://x")',
    "שלום \u202e abc",
)


def three_classes(folder: Path, names: tuple[str, ...] = ("a", "b", "c", "d"), *, live: bool = True) -> Path:
    model = Stack(tuple(posterior(kernels.RBF(L), seed=i) for i in range(3)))
    X = torch.randn(30, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    e = gplens.explain(
        model, X, baseline=0.0, likelihood=links.Softmax(), tolerance=1e-4, feature_names=names, support=True
    )
    targets = ["class 0", "class 1", "class 2"] * 10
    return write(e, folder / "p.html", model=model if live else None, likelihood=links.Softmax(), targets=targets)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return three_classes(tmp_path_factory.mktemp("page"))


def texts(page: Any, selector: str) -> list[str]:
    return page.eval_on_selector_all(selector, "found => found.map((one) => one.textContent)")


def test_rows_classes_sorting_and_filters(browser: Any, page_file: Path) -> None:
    with opened(browser, page_file) as tab:
        page = tab.page
        assert len(texts(page, "#rows .row")) == 30
        page.select_option("label:has-text('sort') select", "high")
        numbers = [float(text) for text in texts(page, "#rows .row .number")]
        assert numbers == sorted(numbers, reverse=True)
        page.select_option("label:has-text('sort') select", "mistake")
        page.fill("#filter-from", "0.5")
        kept = [float(text) for text in texts(page, "#rows .row .number")]
        assert 0 < len(kept) < 30
        assert min(kept) >= 0.5
        page.fill("#filter-from", "")
        page.fill("#filter-search", "row 17")
        assert len(texts(page, "#rows .row")) == 1
        page.click("#rows .row")
        assert "row 17" in page.inner_text("#picked h2")
        page.select_option("#picked label:has-text('output') select", "1")
        page.select_option("#picked label:has-text('rather than') select", "2")
        assert "class 1 rather than class 2" in page.inner_text("#picked h2")
        fragment = page.evaluate("location.hash")
        assert all(part in fragment for part in ("row=17", "output=1", "against=2", "search=row+17", "sort=mistake"))
        tab.check_quiet(page_file)


def test_pin_slice_and_the_way_back_by_a_link(browser: Any, page_file: Path) -> None:
    with opened(browser, page_file, "tab=whatif") as tab:
        page = tab.page
        before = page.inner_text("#prediction")
        page.click("#pin")
        page.wait_for_selector(".slices svg")
        page.locator(".slices svg").first.click(position={"x": 150, "y": 50})
        page.wait_for_function("before => document.getElementById('prediction').textContent !== before", arg=before)
        assert page.inner_text("#change").startswith(f"From A, {before}")
        page.keyboard.press("Tab")
        page.focus("#column-1")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("location.hash.includes('pinned')")
        page.wait_for_timeout(400)
        fragment, answer = page.evaluate("[location.hash.slice(1), document.getElementById('csv').value]")
        tab.check_quiet(page_file)
    with opened(browser, page_file, fragment) as again:
        assert again.page.input_value("#csv") == answer
        assert again.page.evaluate("location.hash.slice(1)") == fragment
        again.page.click("#pin")
        assert again.page.inner_text("#change").startswith("From ")
        again.check_quiet(page_file)


SENSELESS = ("tab=x&row=99&setting=1,2&baseline=no&threshold=a", "setting=%00,<b>,1,2", "%E0%A4%A")


def test_a_link_that_makes_no_sense_shows_the_first_state(browser: Any, page_file: Path) -> None:
    for fragment in SENSELESS:
        with opened(browser, page_file, fragment) as tab:
            assert "row 0" in tab.page.inner_text("#picked h2")
            assert tab.said == []


def test_hostile_names_are_texts(browser: Any, tmp_path: Path) -> None:
    path = three_classes(tmp_path, HOSTILE)
    with opened(browser, path, "tab=whatif") as tab:
        names = texts(tab.page, ".control .name")
        assert names == list(HOSTILE)
        assert tab.page.locator("img").count() == 0
        assert tab.page.locator("script").count() == 4
        answer = tab.page.input_value("#csv")
        assert "\"'=HYPERLINK" in answer
        tab.page.click("#tab-report")
        tab.check_quiet(path)


def test_scripts_that_are_not_its_own_do_not_run(browser: Any, page_file: Path) -> None:
    """The policy of the file stops a script, a handler, eval and a request, were one to come in."""
    with opened(browser, page_file) as tab:
        ran = tab.page.evaluate(
            """async () => {
              const script = document.createElement("script");
              script.textContent = "window.ran = true";
              document.body.append(script);
              const fetched = await fetch("https://example.org/").then(() => true, () => false);
              return [window.ran === true, fetched];
            }"""
        )
        assert ran == [False, False]
        assert any("Content Security Policy" in text for text in tab.said)


def test_without_a_model_the_page_says_why_there_are_no_sliders(browser: Any, tmp_path: Path) -> None:
    path = three_classes(tmp_path, live=False)
    with opened(browser, path, "tab=whatif") as tab:
        assert "no sliders, since the page was written without the model" in tab.page.inner_text("#why-not")
        assert tab.page.locator("#tab-whatif").count() == 0
        tab.check_quiet(path)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab_name", ["report", "whatif"])
def test_axe_finds_nothing_serious(browser: Any, page_file: Path, tab_name: str, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core checks accessibility")
    source = (Path(axe.__file__).parent / "axe.min.js").read_text()
    with opened(browser, page_file, f"tab={tab_name}", color_scheme=scheme, bypass_csp=True) as tab:
        tab.page.evaluate(source)
        found = tab.page.evaluate("axe.run().then((result) => result.violations)")
    serious = [(v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")]
    assert serious == []


@pytest.mark.slow
def test_nothing_is_wider_than_a_phone(browser: Any, page_file: Path) -> None:
    for tab_name in ("report", "whatif"):
        with opened(browser, page_file, f"tab={tab_name}", viewport={"width": 360, "height": 700}) as tab:
            assert tab.page.evaluate("document.documentElement.scrollWidth") <= 360
