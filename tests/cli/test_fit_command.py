"""`gplens fit` as it is typed, and the likelihood that it chooses."""

import errno
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pytest

from gplens.cli.column_settings import columns_of
from gplens.cli.likelihood_choice import choose
from gplens.cli.main import main
from gplens.columns import Category, Cyclic, Log
from gplens.estimators import GPRegressor, load

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def here(small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.csv").write_bytes((small_model / "data.csv").read_bytes())
    monkeypatch.chdir(tmp_path)


def fit(*more: str) -> int:
    return main(["fit", "data.csv", "--target", "y", "--out", "model", *more])


@pytest.mark.usefixtures("here")
def test_a_fit_says_what_it_chose_and_how_good_it_is(capsys: Capture) -> None:
    assert fit("--drop", "c", "--columns", "b=cyclic:7") == 0
    said = capsys.readouterr().out
    assert "gaussian" in said
    assert "not whole" in said
    assert "8 rows held out" in said
    model = load("model")
    assert list(model.feature_names_in_) == ["a", "b"]
    assert model.columns == {"b": Cyclic(7)}
    assert fit() == 1
    assert "--overwrite" in capsys.readouterr().err
    assert list(load("model").feature_names_in_) == ["a", "b"]
    Path("model", "model.json").rename("thesis.json")
    assert fit("--overwrite") == 1  # a folder of something else is never replaced


@pytest.mark.usefixtures("here")
def test_a_model_that_cannot_be_saved_is_saved_elsewhere(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    real: Any = GPRegressor.save

    def save(self: GPRegressor, folder: Path) -> None:
        if Path(folder).name == "model":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(self, folder)

    monkeypatch.setattr(GPRegressor, "save", save)
    monkeypatch.setenv("TMPDIR", str(Path.cwd()))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert fit("--drop", "c", "--holdout", "0") == 1
    said = capsys.readouterr().err
    assert "No space left" in said
    (rescued,) = Path().glob("gplens-model-*")
    assert rescued.name in said
    assert load(rescued).n_features_in_ == 2


BAD: dict[str, tuple[str, list[str], list[str]]] = {
    "text in numbers": ("a,y\n" + "1.5,2.5\n" * 20 + "3,4\nsix,1\n", [], ["'a'", "'six'", "row 21", "a=category"]),
    "a row number of the file": ("a,y\n1,\n" + "1,2.5\n" * 20 + "six,1\n", [], ["'a'", "'six'", "row 21"]),
    "text in a numeric target": ("a,y\n" + "1,2\n3,4\n" * 9 + "5,many\n", [], ["'y'", "'many'", "row 18", "classes"]),
    "texts as counts": ("a,y\n1,few\n2,many\n", ["--likelihood", "counts"], ["'y'", "'few'", "row 0"]),
    "one class": ("a,y\n1,7\n2,7\n", [], ["'y'", "got 7"]),
    "texts that do not repeat": ("a,y\n1,Ann\n2,Bob\n3,Eve\n", [], ["3 different", "--likelihood classes"]),
    "no such target": ("a,b\n1,2\n", [], ["'y'", "'b'"]),
    "no such column": ("a,y\n1,2\n", ["--drop", "z"], ["'z'"]),
    "a kind of no column": ("a,y\n1,2\n", ["--columns", "z=log"], ["'z=log'"]),
    "no such kind": ("a,y\n1,2\n", ["--columns", "a=cyclic"], ["'cyclic'", "cyclic:PERIOD"]),
    "empty": ("", [], ["empty"]),
    "names only": ("a,y\n", [], ["at least one row"]),
    "no targets": ("a,y\n1,\n2,\n", [], ["'y'"]),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_in_a_sentence(case: str, capsys: Capture) -> None:
    content, options, words = BAD[case]
    Path("data.csv").write_text(content)
    assert fit(*options) == 1
    said = capsys.readouterr().err
    assert "gplens: expected" in said
    assert all(word in said for word in words), said
    assert not Path("model").exists()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("option", ["--likelihood", "--engine"])
def test_a_word_that_is_no_choice_has_exit_code_two(option: str, capsys: Capture) -> None:
    assert fit(option, "normal") == 2
    assert "normal" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("out", "word"), [("no/where", "no"), ("data.csv", "file")])
def test_a_folder_that_cannot_be_written_is_refused_before_the_fit(out: str, word: str, capsys: Capture) -> None:
    assert main(["fit", "data.csv", "--target", "y", "--out", out]) == 1
    said = capsys.readouterr().err
    assert word in said
    assert "fitting" not in said


@pytest.mark.parametrize(
    ("target", "likelihood", "word"),
    [
        (["a", "b", "a"], "classes", "string"),
        ([True, False, True], "classes", "true or false"),
        ([0, 1, 1, 0], "classes", "2 different"),
        ([1, 2, 3] * 10, "classes", "3 different"),
        ([1, 2, 3, 4], "counts", "1 to 4"),
        (list(range(50)), "counts", "0 to 49"),
        ([3.0, 4.0, 9.0], "counts", "3 to 9"),
        ([-3, 4, 9], "gaussian", "-3"),
        ([0.5, 4.0, 9.0], "gaussian", "not whole"),
        (list(range(51396, 51496)), "gaussian", "amounts"),
    ],
)
def test_the_likelihood_follows_the_target(target: list[Any], likelihood: str, word: str) -> None:
    choice = choose(pyarrow.chunked_array([target]))
    assert choice.likelihood == likelihood
    assert word in choice.reason


def test_kinds_are_typed_as_they_are_called() -> None:
    kinds = columns_of(["hour=cyclic:24", "a=b=log:1", "zip=category"], ["hour", "a=b", "zip"])
    assert kinds == {"hour": Cyclic(24), "a=b": Log(plus=1), "zip": Category()}
    with pytest.raises(ValueError, match="cyclic:x"):
        columns_of(["hour=cyclic:x"], ["hour"])


@pytest.mark.usefixtures("here")
def test_rows_without_a_target_are_left_out_and_said(capsys: Capture) -> None:
    data = pandas.read_csv("data.csv")
    data.loc[[2, 7], "y"] = None
    data[["a", "y"]].to_csv("data.csv", index=False)
    assert fit("--holdout", "0") == 0
    said = capsys.readouterr()
    assert "2 of 40 rows" in said.err
    assert "38 rows" in said.err
    assert "held out" not in said.out
