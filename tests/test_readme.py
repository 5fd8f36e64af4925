"""The README: its code runs, its first example prints what it shows, and what it says of it and of extras is so."""

import contextlib
import io
import re
import tomllib
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
import pandas
import pytest
import torch

import gplens

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CODE, OUTPUT = re.findall(r"```(?:python|text)\n(.*?)```", README, flags=re.DOTALL)[:2]
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def test_first_example_has_at_most_eight_lines() -> None:
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 8


def test_first_example_prints_what_the_readme_shows() -> None:
    """Every word, and every number to the digits shown; gap, error and nodes, which depend on rounding, roughly."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(CODE, {})
    ours, shown = printed.getvalue().splitlines(), OUTPUT.splitlines()
    assert ours[:-1] == shown[:-1]
    (gap, error, nodes), shown_numbers = ([float(n) for n in NUMBER.findall(line)] for line in (ours[-1], shown[-1]))
    assert NUMBER.sub("#", ours[-1]) == NUMBER.sub("#", shown[-1])
    assert gap < 1e-6
    assert error < 1e-3
    assert nodes == pytest.approx(shown_numbers[2], rel=0.1)


def test_the_story_of_the_first_example_is_that_of_its_numbers() -> None:
    """The change, the rows of the background, the order of the features and their signs."""
    story = README[README.index(OUTPUT) :].split("\n\n")[1].replace("\n", " ")
    change = float(re.search(r"\(([+-]\d+\.?\d*)\)", OUTPUT).group(1))  # type: ignore[union-attr]
    rows = int(re.search(r"X with (\d+) rows", OUTPUT).group(1))  # type: ignore[union-attr]
    assert f"{change:.0f} bikes above" in story
    assert f"{rows} hours" in story
    values = {name: float(value) for name, value in re.findall(r"^    (\w+) += \S+ +(\S+)", OUTPUT, re.MULTILINE)}
    assert max(values, key=lambda name: abs(values[name])) == "hour"  # "most of the difference"
    assert values["hour"] > change / 2
    assert 0 < values["temperature"] < change / 2  # "some of it"
    assert values["humidity"] < 0  # "lowers the count"
    assert "= 18 " in OUTPUT  # "six in the evening"


def classes(features: int) -> tuple[Any, Any]:
    """A GPyTorch model of ten independent classes."""
    from gplens.estimators.gp_models import Sparse, kernel_of

    torch.manual_seed(0)
    Z, kernel = torch.randn(6, features).double(), kernel_of("rbf", features, None)
    model = Sparse(Z, kernel, gpytorch.means.ZeroMean(), latents=10, jitter=1e-6).double().eval().requires_grad_(False)
    model.q.variational_mean.copy_(torch.randn(10, 6))
    return model, gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)


@pytest.mark.filterwarnings("ignore:The set_(bad|over|under|extremes) function:PendingDeprecationWarning")  # shap
def test_every_block_of_code_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On stand-ins for the reader's table and model, in one session from top to bottom."""
    monkeypatch.chdir(tmp_path)
    r = np.random.default_rng(0)
    frame = pandas.DataFrame(r.normal(size=(40, 3)), columns=["hour_sin", "hour_cos", "temperature"])
    model, likelihood = classes(3)
    names: dict[str, Any] = {"gplens": gplens, "model": model, "likelihood": likelihood}
    names |= {"X": frame[:5], "X_train": frame}
    assert len(BLOCKS) == 3
    exec(BLOCKS[1], names)
    explanation = names["explanation"]
    assert explanation.values.shape == (5, 10, 3)
    assert type(explanation.to_frame()) is pandas.DataFrame
    assert Path("january.gplens").is_file()
    names |= {"frame": frame, "counts": r.poisson(2.0, size=40)}
    exec(BLOCKS[2].replace("random_state=0", "random_state=0, inducing_points=5"), names)
    loaded = type(names["model"]).load("bikes")
    np.testing.assert_array_equal(loaded.predict(frame), names["model"].predict(frame))
    ours, theirs = (m.explain(frame[:2], baseline=m.mean_input_) for m in (names["model"], loaded))
    assert torch.equal(ours.values, theirs.values)


def test_it_is_the_short_version_of_the_front_page() -> None:
    """The same question, promise, picture and first example."""
    front = (ROOT / "docs" / "index.md").read_text()
    assert CODE in front
    question, promise = README.split("\n\n")[1:3]
    assert f"{question}\n\n{promise}\n" in front
    assert re.findall(r"docs/(gallery/\w+\.png)", README) == re.findall(r"gallery/\w+\.png", front)
    assert len(README.splitlines()) < len(front.splitlines())


BUILT = {"_build", "auto_examples", "_pictures"}
SITE = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not BUILT & set(path.parts)]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *SITE]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_installed_exists(page: Path) -> None:
    """gplens comes from a clone, with extras that pyproject.toml has; sources say "the extra [name]"."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for command in re.findall(r"pip install[^`\n]*", page.read_text()):
        assert "gplens" not in command
        for listed in re.findall(r"\[([\w,]+)\]", command):
            assert set(listed.split(",")) <= set(extras), command


def test_no_message_installs_gplens_by_name() -> None:
    sources = (ROOT / "src").rglob("*.py")
    assert not [path.name for path in sources if re.search(r"pip install\s+\S?gplens", path.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """Files exist, and so do the headings that anchors name."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http", "auto_examples/", "../auto_examples/")):  # `make docs` writes the gallery
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", path.read_text(), flags=re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, target
