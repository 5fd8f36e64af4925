"""`gplens plot` of a file that `gplens explain` wrote: the same numbers, and sentences for what it cannot show."""

from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from gplens.batch.attribution_file import read_attributions
from gplens.cli.main import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def attributions(small_model: Path, tmp_path: Path) -> Path:
    """Six rows with their deviations."""
    out = tmp_path / "attributions.parquet"
    options = ["--rows", "6", "--uncertainty", "--out", str(out)]
    assert main(["explain", str(small_model / "model"), str(small_model / "data.csv"), *options]) == 0
    return out


def test_a_file_has_the_numbers_that_were_written(attributions: Path, small_model: Path) -> None:
    e, table = read_attributions(attributions, data=small_model / "data.csv"), parquet.read_table(attributions)
    assert e.std is not None
    for k, name in enumerate(e.feature_names):
        np.testing.assert_array_equal(e.values[:, k], table[f"attribution:{name}"])
        np.testing.assert_array_equal(e.std[:, k], table[f"std:{name}"])
    np.testing.assert_array_equal(e.prediction, table["prediction"])
    assert np.isfinite(e.inputs.numpy()).any()
    assert read_attributions(attributions, row=4).values.tolist() == e.values[4:5].tolist()


def test_entries_that_are_no_numbers_have_texts(attributions: Path, tmp_path: Path) -> None:
    """Booleans as the model shows them, missing ones too; a column that the table does not have has no text."""
    names = read_attributions(attributions).feature_names
    table = pyarrow.table({names[0]: [True, False, None, True, False, True]})
    parquet.write_table(table, tmp_path / "data.parquet")
    labels = read_attributions(attributions, data=tmp_path / "data.parquet").labels
    assert [labels.input_text(row, 0) for row in range(3)] == ["True", "False", "missing"]
    assert labels.input_text(0, 1) is None


def test_pictures_of_a_file(attributions: Path, small_model: Path, tmp_path: Path, capsys: Capture) -> None:
    """Without the table for bars, with it for values; a plot that needs the model says so."""
    picture, data = tmp_path / "picture.png", str(small_model / "data.csv")
    assert main(["plot", str(attributions), "--kind", "bar", "--out", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    scatter = ["--kind", "scatter", "--feature", "a", "--out", str(tmp_path / "scatter.png")]
    assert main(["plot", str(attributions), *scatter]) == 2
    assert main(["plot", str(attributions), data, *scatter]) == 0
    capsys.readouterr()
    for given, word in (
        ([str(attributions), "--kind", "path", "--row", "1"], "model"),
        ([data], "gplens explain"),
        ([str(small_model / "model")], "DATA"),
        ([str(attributions), "--row", "99"], "99"),
        ([str(attributions), "--output", "no"], "--output"),
    ):
        assert main(["plot", *given, "--out", str(tmp_path / "none.png")]) in (1, 2)
        assert word in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "none.png").exists()
