"""What the scripts of the report show of a row: its error, and labels that fit beside a bar."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from node_runner import run

from gplens.estimators import GPClassifier

SHORTENED = """
import { shortened } from "page/charts.js";
import { isolated } from "page/columns.js";
const plain = (text) => text.replace(/[\\u2068\\u2069]/g, "");
const label = (name, entry) => `${isolated(name)}: ${isolated(entry)}`;
console.log(JSON.stringify([
  plain(shortened(label("mean concavity of cells", "0.1974"), 20)), plain(shortened(label("area", "1 → 2"), 20)),
  plain(shortened(label("area of cells", "a category with a long name"), 20)), plain(shortened("a plain long name", 8)),
]));
"""
MISTAKES = """
import { ReportRows } from "page/report_rows.js";
const rows = new ReportRows(given);
console.log(JSON.stringify(given.numbers.map((_, row) => rows.mistake(row))));
"""


def test_a_label_that_is_too_long_keeps_its_entries(tmp_path: Path) -> None:
    kept = run(SHORTENED, tmp_path)
    assert kept == ["mean concav…: 0.1974", "area: 1 → 2", "area of cells", "a plain…"]
    assert all(len(text) <= 20 for text in kept)


@pytest.mark.parametrize(
    "labels", [(1, 2), *(pytest.param(two, marks=pytest.mark.slow) for two in (("ham", "spam"), (False, True)))]
)
def test_the_error_of_two_classes_is_what_the_observed_one_lacks(labels: tuple[Any, Any], tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = np.array(labels)[(X[:, 0] + 0.5 * X[:, 1] > 0).astype(int)]
    model = GPClassifier(random_state=0, progress=False).fit(X, y)
    page = model.page(X, tmp_path / "p.html", targets=y, rows=10, uncertainty=None).read_text()
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    report = json.loads(found[1])["report"]
    rows = report["numbers"]
    stated = model.predict_proba(X[rows])[np.arange(10), np.searchsorted(model.classes_, y[rows])]
    np.testing.assert_allclose(run(MISTAKES, tmp_path, report), 1 - stated, atol=1e-8)
