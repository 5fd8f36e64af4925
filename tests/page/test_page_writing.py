"""Writing a page: what is in the file, what is refused, and why a model has no sliders."""

import hashlib
import json
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch
from live_models import L, posterior

import gplens
from gplens import kernels, links
from gplens.columns import Cyclic
from gplens.estimators import GPRegressor
from gplens.page import write
from gplens.page.html_file import modules, script
from messages import naming

X = torch.randn(20, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def explained(rows: torch.Tensor = X, **more: Any) -> gplens.Explanation:
    return gplens.explain(posterior(kernels.RBF(L)), rows, baseline=0.0, likelihood=links.Exp(), tolerance=1e-4, **more)


def content(path: Path) -> Any:
    """What the scripts of a page read."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text(), re.DOTALL)
    assert found
    return json.loads(found[1])


def test_the_policy_allows_the_scripts_of_the_page_and_no_other(tmp_path: Path) -> None:
    text = write(explained(), tmp_path / "p.html").read_text()
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    hashes = {f"'sha256-{b64encode(hashlib.sha256(code.encode()).digest()).decode()}'" for code in scripts}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    parts = dict(part.strip().split(" ", 1) for part in policy[1].split(";"))
    assert parts["default-src"] == "'none'"
    assert set(parts["script-src"].split()) == hashes
    assert len(hashes) == 3
    assert not re.search(r"\son\w+=|https?://(?!www\.w3\.org)", text.split("<script")[0])


def test_the_modules_share_one_scope() -> None:
    """Each name is declared once at the top of all modules, and nothing is exported or imported in the script."""
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script(), re.MULTILINE)
    assert len(names) == len(set(names)) > 100
    assert not re.search(r"^(import|export) ", script(), re.MULTILINE)
    folder = Path(gplens.page.__file__).parent / "js"
    assert sorted(modules()) == sorted(path.stem for path in folder.glob("*.js"))


def test_the_vendored_scripts_have_their_licences() -> None:
    folder = Path(gplens.page.__file__).parent / "vendor"
    assert sorted(path.name for path in folder.iterdir()) == [
        "d3.LICENSE",
        "d3.min.js",
        "plot.LICENSE",
        "plot.umd.min.js",
    ]
    assert "v7.9.0" in (folder / "d3.min.js").read_text()[:60]


def test_a_page_holds_the_numbers_of_its_explanation(tmp_path: Path) -> None:
    e = explained(uncertainty=gplens.Diagonal(), support=True)
    found = content(write(e, tmp_path / "p.html", targets=np.arange(20.0)))["report"]
    values = np.frombuffer(b64decode(found["values"]), dtype="<f8").reshape(20, 4)
    np.testing.assert_array_equal(values, e.values.numpy())
    low = np.frombuffer(b64decode(found["low"]), dtype="<f8").reshape(20, 4)
    np.testing.assert_allclose(low, (e.values - e.std).numpy())  # type: ignore[operator]
    assert found["targets"][3] == 3.0
    assert found["quality"]["gap"] == float(e.gap.abs().max())


def test_of_many_rows_a_sample_is_carried_and_said_so(tmp_path: Path) -> None:
    e = explained()[torch.arange(100_000) % 20]
    path = write(e, tmp_path / "p.html", model=posterior(kernels.RBF(L)), likelihood=links.Exp())
    found = content(path)["report"]
    assert found["total"] == 100_000
    assert len(found["numbers"]) == 1000
    assert path.stat().st_size < 3e6


def test_another_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"predicts .*\d"):
        write(explained(), tmp_path / "p.html", model=posterior(kernels.RBF(L), seed=3), likelihood=links.Exp())
    with pytest.raises(ValueError, match=naming(20, 3)):
        write(explained(), tmp_path / "p.html", targets=[1, 2, 3])
    assert list(tmp_path.iterdir()) == []


def why_not(tmp_path: Path, kernel: Any = None, **more: Any) -> str:
    model = posterior(kernels.RBF(L) if kernel is None else kernel)
    e = gplens.explain(model, X, baseline=0.0, likelihood=links.Exp(), tolerance=1e-4, **more)
    return content(write(e, tmp_path / "p.html", model=model, likelihood=links.Exp()))["why_not"]


def test_reasons_for_no_sliders(tmp_path: Path) -> None:
    assert "kernel Matern is not one" in why_not(tmp_path, kernels.Matern(L, 3.5))
    assert "groups of features" in why_not(tmp_path, groups={"both": ["x0", "x1"]})
    assert "EpistemicVariance()" in why_not(tmp_path, target=gplens.targets.EpistemicVariance())
    assert why_not(tmp_path, target=gplens.targets.Latent()) is None


def test_the_page_of_an_estimator_has_the_columns_of_its_table(tmp_path: Path) -> None:
    """Texts, cycles, missing numbers; the baseline of the report is found again, and rows keep their numbers."""
    r = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "hour": r.integers(0, 24, 30),
            "city": r.choice(["Bonn", "Trier"], 30),
            "gap": np.where(r.random(30) < 0.3, np.nan, r.normal(size=30)),
        }
    )
    y = np.sin(table["hour"] / 4) + (table["city"] == "Bonn")
    model = GPRegressor(columns={"hour": Cyclic(24)}, random_state=0).fit(table, y)
    found = content(model.page(table, tmp_path / "p.html", targets=y, rows=10, uncertainty=None))
    assert found["why_not"] is None
    assert [column["kind"] for column in found["live"]["columns"]] == ["cyclic", "category", "number"]
    assert [option["id"] for option in found["live"]["baselines"]] == ["report", "mean", "medoid"]
    assert found["live"]["outcome"]["type"] == "gaussian"
    assert found["report"]["total"] == 30
    assert len(found["report"]["numbers"]) == 10
