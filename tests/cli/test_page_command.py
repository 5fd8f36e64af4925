"""`gplens page` as it is typed."""

from pathlib import Path

import pytest

from gplens.cli.main import main


def test_a_page_of_a_saved_model(small_model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With sliders for the columns, the errors of predictions, and no file in the place of one that exists."""
    paths, out = [str(small_model / "model"), str(small_model / "data.csv")], tmp_path / "page.html"
    options = ["--observed", "y", "--rows", "5", "--no-uncertainty", "--title", "Small", "--out", str(out)]
    assert main(["page", *paths, *options]) == 0
    assert str(out) in capsys.readouterr().out
    text = out.read_text()
    assert "<title>Small</title>" in text
    assert '"why_not":null' in text
    assert '"total":40' in text
    assert main(["page", *paths, *options]) == 1
    assert "add --overwrite" in capsys.readouterr().err
    assert main(["page", *paths, "--out", str(tmp_path / "page.pdf")]) == 1
    assert "ends in .html" in capsys.readouterr().err
