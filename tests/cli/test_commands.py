"""What all commands share: help with examples, version, completion; and `plot` and `verify` as they are typed."""

import errno
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from gplens import __version__
from gplens.cli.main import main
from gplens.verification import comparisons

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def paths(small_model: Path) -> list[str]:
    return [str(small_model / "model"), str(small_model / "data.csv")]


@pytest.mark.parametrize("command", ["fit", "explain", "plot", "page", "verify", "reproduce", "demo"])
def test_help_has_options_and_examples(command: str, capsys: Capture) -> None:
    assert main([command, "--help"]) == 0
    shown = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "--help" in shown
    if command not in ("reproduce", "demo"):
        assert "Examples:" in shown
        assert f"gplens {command} " in shown


def test_the_version_and_the_list_of_commands(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"gplens {__version__}\n"
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("fit", "explain", "plot", "verify", "demo", "--install-completion", "130"))
    assert main(["bogus"]) == 2


def test_without_typer_a_sentence_names_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["demo"]) == 1
    said = capsys.readouterr().err
    assert "typer" in said
    assert "[cli]" in said


@pytest.mark.parametrize(
    "options",
    [
        ["--row", "3"],
        ["--row", "3", "--kind", "path"],
        pytest.param(["--rows", "10", "--kind", "bar", "--no-uncertainty"], marks=pytest.mark.slow),
        pytest.param(["--rows", "10", "--kind", "beeswarm", "--unit", "bikes"], marks=pytest.mark.slow),
        ["--rows", "10", "--kind", "scatter", "--feature", "a", "--no-uncertainty"],
        pytest.param(["--row", "0", "--kind", "uncertainty", "--baseline", "row:1"], marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_pictures_are_written(options: list[str], paths: list[str], tmp_path: Path, capsys: Capture) -> None:
    picture = tmp_path / "picture.png"
    assert main(["plot", *paths, "--out", str(picture), *options]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert str(picture) in capsys.readouterr().out.replace("\n", "")
    assert main(["plot", *paths, "--out", str(picture), *options]) == 1
    assert "--overwrite" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "code", "word"),
    [
        (["--kind", "waterfall"], 2, "--row"),
        (["--kind", "scatter"], 2, "--feature"),
        (["--kind", "cake"], 2, "cake"),
        (["--row", "99"], 1, "99"),
        (["--row", "1", "--output", "maybe"], 1, "maybe"),
    ],
)
def test_pictures_that_cannot_be_drawn(
    options: list[str], code: int, word: str, paths: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert main(["plot", *paths, "--out", str(tmp_path / "a.png"), *options]) == code
    assert word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_picture(
    paths: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    picture = tmp_path / "picture.png"
    picture.write_text("years of work")
    monkeypatch.setattr("os.fsync", full)
    assert main(["plot", *paths, "--out", str(picture), "--row", "1", "--no-uncertainty", "--overwrite"]) == 1
    said = capsys.readouterr().err
    assert "No space left" in said
    assert str(picture) in said
    assert picture.read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [picture]


def test_verify_passes_with_numbers_and_fails_with_exit_code_one(
    paths: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert main(["verify", *paths, "--rows", "2", "--draws", "500"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("pass") >= 7
    assert "FAIL" not in shown
    monkeypatch.setattr(comparisons, "integrated_differences", _of_another_model)
    assert main(["verify", *paths, "--rows", "2", "--draws", "500"]) == 1
    assert re.search(r"gradients\s+FAIL", capsys.readouterr().out)


def _of_another_model(host: Any, x0: Any, x: Any, features: list[int], accuracy: float) -> Any:
    import torch

    return torch.ones(1, len(features), dtype=x.dtype), torch.zeros(1, len(features), dtype=x.dtype)
