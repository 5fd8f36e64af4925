"""`gplens reproduce` as it is typed: folders, sentences, exit codes."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import joblib
import pandas
import pytest

from gplens.cli.main import main
from gplens.experiments import run as running
from gplens.experiments.report import Report


def small(seed: int, quick: bool, messages: object) -> Report:
    return Report("# A page\n", {"numbers": pandas.DataFrame({"x": [seed, 1 / 3]})}, {}, {"quick": quick})


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "experiment", lambda name: small)


def test_the_command_is_installed_and_lists_the_experiments() -> None:
    script = Path(sys.executable).with_name("gplens")
    shown = subprocess.run([script, "reproduce", "--help"], capture_output=True, text=True, check=True).stdout
    assert all(name in shown for name in ("table", "bike", "mnist", "fashion", "all"))


@pytest.mark.usefixtures("stubbed")
def test_a_run_ends_in_a_folder_with_page_numbers_and_settings(tmp_path: Path) -> None:
    assert main(["reproduce", "table", "--output", str(tmp_path / "a" / "b"), "--seed", "7", "--quick"]) == 0
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == [
        "README.md",
        "numbers.csv",
        "settings.json",
    ]
    assert (tmp_path / "a" / "b" / "numbers.csv").read_text() == f"x\n7.0\n{1 / 3!r}\n"
    settings = json.loads((tmp_path / "a" / "b" / "settings.json").read_text())
    assert settings["quick"] is True
    assert settings["versions"]["torch"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]  # nothing is left beside it


@pytest.mark.usefixtures("stubbed")
def test_an_existing_folder_is_replaced_only_when_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["reproduce", "bike", "--output", str(tmp_path / "out")]
    assert main([*command, "--seed", "1"]) == 0
    assert main([*command, "--seed", "2"]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in (str(tmp_path / "out"), "--output", "--overwrite"))
    assert "1.0" in (tmp_path / "out" / "numbers.csv").read_text()
    assert main([*command, "--seed", "2", "--overwrite"]) == 0
    assert "2.0" in (tmp_path / "out" / "numbers.csv").read_text()


@pytest.mark.usefixtures("stubbed")
def test_a_folder_of_something_else_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.tex").write_text("years")
    assert main(["reproduce", "bike", "--output", str(tmp_path), "--overwrite"]) == 1
    assert "settings.json" in capsys.readouterr().err
    assert (tmp_path / "thesis.tex").read_text() == "years"


@pytest.mark.usefixtures("stubbed")
def test_all_checks_every_folder_before_the_first_run(tmp_path: Path) -> None:
    command = ["reproduce", "all", "--jobs", "1", "--output", str(tmp_path / "set")]
    assert main(command) == 0
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["bike", "fashion", "mnist", "table"]
    (tmp_path / "set" / "table" / "README.md").unlink()
    assert main(command) == 1
    assert not (tmp_path / "set" / "table" / "README.md").exists()


def test_two_jobs_run_the_images_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two experiments that wait for each other both finish, after those that run alone; in threads, for the stubs."""
    both, order = threading.Barrier(2, timeout=60), []

    def experiment(name: str) -> Callable[[int, bool, running.Messages], Report]:
        def work(seed: int, quick: bool, messages: running.Messages) -> Report:
            order.append(name)
            if name in running.TOGETHER:
                both.wait()
            messages.say("working")
            return small(seed, quick, messages)

        return work

    monkeypatch.setattr(running, "experiment", experiment)
    with joblib.parallel_config("threading"):
        assert main(["reproduce", "all", "--jobs", "2", "--output", str(tmp_path / "set")]) == 0
    assert order[:2] == ["table", "bike"]
    assert sorted(path.name for path in (tmp_path / "set").iterdir()) == ["bike", "fashion", "mnist", "table"]
    said = capsys.readouterr().err
    assert all(f"{name}: working" in said for name in ("mnist", "fashion"))


@pytest.mark.parametrize("fails", [OSError("disk full"), KeyboardInterrupt()])
def test_a_run_that_fails_while_writing_leaves_the_old_folder(
    fails: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "experiment", lambda name: small)
    command = ["reproduce", "table", "--output", str(tmp_path / "out"), "--overwrite"]
    assert main([*command, "--seed", "1"]) == 0

    def fail(*args: object, **options: object) -> None:
        raise fails

    monkeypatch.setattr(pandas.DataFrame, "to_csv", fail)
    assert main([*command, "--seed", "2"]) in (1, 130)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert "1.0" in (tmp_path / "out" / "numbers.csv").read_text()


@pytest.mark.parametrize("name", ["mnist", "fashion"])
def test_missing_data_are_named_with_the_way_to_get_them(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import sklearn.datasets

    def fetch(*args: object, **options: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setenv("GPLENS_CACHE", str(tmp_path / "cache"))
    assert main(["reproduce", name, "--output", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert "train-images-idx3-ubyte" in said
    assert "GPLENS_DATA" in said
    assert not (tmp_path / "out").exists()


def test_a_package_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "gplens.experiments.run")
    monkeypatch.delitem(sys.modules, "gplens.experiments.report")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reproduce", "table", "--output", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("matplotlib.figure", "[reproduce]"))
