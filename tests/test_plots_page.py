"""docs/PLOTS.md: a section for each plot, lines that run, pictures that exist and are small."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import gplens
from gplens import plots
from gplens.baselines import Zeros
from gplens.estimators import GPClassifier, Training

FOLDER = Path(__file__).parents[1] / "docs"
PAGE = (FOLDER / "PLOTS.md").read_text()
PICTURES = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE)


def test_every_plot_has_a_section_and_a_picture() -> None:
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
    for name in set(plots.__all__) - {"draw"}:
        assert f"plots.{name}(" in sections[name]
        assert "](gallery/" in sections[name]


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_small(picture: str) -> None:
    assert 2_000 < (FOLDER / picture).stat().st_size < 100_000


def test_the_gallery_has_no_other_pictures() -> None:
    assert sorted(path.name for path in (FOLDER / "gallery").iterdir()) == sorted(Path(name).name for name in PICTURES)


def test_the_lines_run() -> None:
    """With small models: every block, in the order of the page."""
    generator = np.random.default_rng(0)
    frame = pandas.DataFrame(generator.normal(size=(8, 3)), columns=["hour", "working_day", "temperature"])
    digit_model = GPClassifier(inducing_points=4, random_state=0, training=Training(steps=2))
    X = generator.normal(size=(20, 4))
    digit_model.fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    digit = digit_model.explain(X[:1], baseline=Zeros(), uncertainty=gplens.Diagonal())
    names: dict[str, Any] = {"frame": frame, "baseline": frame.to_numpy()[0] + 1, "digit": digit, "Training": Training}
    names["counts"] = generator.poisson(3, size=8)
    small = {
        "random_state=0": "random_state=0, inducing_points=4, training=Training(steps=2)",
        "Samples(2000": "Samples(20",
    }
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        for whole, quick in small.items():
            block = block.replace(whole, quick)
        exec(block, names)
    assert len(names["many"]) == 8
