"""`gplens explain` as it is typed: files in, files out, sentences, exit codes, and nothing lost in between."""

import errno
import shutil
from pathlib import Path

import numpy as np
import pandas
import pytest
from pyarrow import parquet

import gplens
from gplens.batch import local_engine, parts
from gplens.cli.main import main
from gplens.estimators import load

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def place(small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own with model and data, to which relative paths refer."""
    shutil.copytree(small_model, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four pieces of ten rows, each explained in two steps."""
    monkeypatch.setattr("gplens.batch.sources.PIECE", 10)
    monkeypatch.setattr("gplens.batch.local_engine.PIECE", 10)
    monkeypatch.setattr("gplens.batch.local_engine.STEP", 5)


def explain(*more: str) -> int:
    return main(["explain", "model", "data.csv", "--out", "out.parquet", *more])


def attributions(frame: pandas.DataFrame) -> np.ndarray:
    return frame[["attribution:a", "attribution:b", "attribution:c"]].to_numpy()


def assert_same(one: str, other: str) -> None:
    """Row for row, to the rounding of sums in another order."""
    ours, theirs = parquet.read_table(one), parquet.read_table(other)
    assert ours.schema == theirs.schema
    assert ours["row"].to_pylist() == theirs["row"].to_pylist() == list(range(40))
    np.testing.assert_allclose(attributions(ours.to_pandas()), attributions(theirs.to_pandas()), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("place")
def test_the_output_has_what_the_estimator_explains(capsys: Capture) -> None:
    assert explain("--uncertainty", "--keep", "y", "--rows", "4") == 0
    out, model = pandas.read_parquet("out.parquet"), load("model")
    data = pandas.read_csv("data.csv")[:4]
    e = model.explain(data[["a", "b", "c"]], baseline=model.mean_input_, uncertainty=gplens.Diagonal())
    np.testing.assert_allclose(attributions(out), e.values.numpy(), rtol=1e-9, atol=1e-9)
    assert e.std is not None
    np.testing.assert_allclose(out["std:b"], e.std[:, 1].numpy(), rtol=1e-9)
    np.testing.assert_allclose(out["prediction"], model.predict(data[["a", "b", "c"]]), rtol=1e-9)
    np.testing.assert_allclose(out["y"], data["y"], rtol=1e-15, atol=1e-15)  # pandas before 3 rounds what it reads
    assert "4 rows" in capsys.readouterr().out
    assert sorted(path.name for path in Path().iterdir()) == ["data.csv", "model", "out.parquet"]


@pytest.mark.usefixtures("place")
def test_csv_and_parquet_give_the_same_numbers() -> None:
    pandas.read_csv("data.csv").to_parquet("data.parquet")
    assert main(["explain", "model", "data.parquet", "--out", "other.csv", "--rows", "7"]) == 0
    assert explain("--rows", "7") == 0
    ours, theirs = pandas.read_csv("other.csv"), pandas.read_parquet("out.parquet")
    assert len(ours) == 7
    np.testing.assert_allclose(attributions(ours), attributions(theirs), rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("place")
def test_a_row_as_the_baseline_has_no_attributions_itself() -> None:
    assert explain("--baseline", "row:5", "--target", "latent") == 0
    assert np.abs(attributions(pandas.read_parquet("out.parquet"))[5]).max() == 0
    model, data = load("model"), pandas.read_csv("data.csv")[["a", "b", "c"]]
    change = model.predict(data) - model.predict(data.iloc[[5]])
    np.testing.assert_allclose(attributions(pandas.read_parquet("out.parquet")).sum(1), change, atol=1e-6)


@pytest.mark.usefixtures("place")
def test_rows_that_cannot_be_explained_have_a_reason(capsys: Capture) -> None:
    data = pandas.read_csv("data.csv")
    data.loc[3, "a"] = np.nan
    data.loc[5, "c"] = "new"
    data.to_csv("data.csv", index=False)
    assert explain() == 0
    out = pandas.read_parquet("out.parquet")
    assert out.index[out["error"].notna()].tolist() == [3, 5]
    assert "'a'" in out["error"][3]
    assert "'new'" in out["error"][5]
    assert out["prediction"].isna().sum() == 2
    assert "2 rows" in capsys.readouterr().out


@pytest.mark.usefixtures("place", "small_pieces")
def test_an_interrupted_run_says_how_to_go_on_and_ends_as_if_nothing_had_been(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert main(["explain", "model", "data.csv", "--out", "whole.parquet"]) == 0
    real, calls = local_engine.Explainer.__call__, []

    def stop(self: local_engine.Explainer, table: object) -> object:
        calls.append(table)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return real(self, table)  # type: ignore[arg-type]

    monkeypatch.setattr(local_engine.Explainer, "__call__", stop)
    assert explain() == 130
    said = capsys.readouterr().err
    assert "25 rows" in said
    assert "gplens explain model data.csv --out out.parquet" in said
    assert "--resume" in said
    assert not Path("out.parquet").exists()
    assert explain() == 1  # an unfinished run is not thrown away
    assert "--resume" in capsys.readouterr().err
    assert explain("--resume") == 0
    assert "20 of them" in capsys.readouterr().out
    assert len(calls) == 6 + (40 - 20) // 5  # finished pieces are not repeated
    assert_same("out.parquet", "whole.parquet")
    assert not Path("out.parquet.parts").exists()


@pytest.mark.usefixtures("place", "small_pieces")
@pytest.mark.parametrize(
    "fails", [pytest.param(3, id="part"), pytest.param(4, id="record", marks=pytest.mark.slow)]
)  # the write of a part, or that of its record
def test_a_full_disk_loses_nothing(fails: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    assert main(["explain", "model", "data.csv", "--out", "whole.parquet"]) == 0
    real, calls = parts.write, []

    def write(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) == fails + 2:  # after the manifest and the first part
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    monkeypatch.setattr(parts, "write", write)
    assert explain() == 1
    said = capsys.readouterr().err
    assert "No space left" in said
    assert "--resume" in said
    assert not Path("out.parquet").exists()
    assert explain("--resume") == 0
    assert_same("out.parquet", "whole.parquet")


@pytest.mark.slow
@pytest.mark.usefixtures("place", "small_pieces")
def test_a_damaged_part_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["explain", "model", "data.csv", "--out", "whole.parquet"]) == 0
    with monkeypatch.context() as patch:
        patch.setattr(local_engine, "write_tables", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt()))
        assert explain() == 130
    part = Path("out.parquet.parts", "00000002.arrow")
    part.write_bytes(part.read_bytes()[:-9])
    assert explain("--resume") == 0
    assert_same("out.parquet", "whole.parquet")


@pytest.mark.usefixtures("place", "small_pieces")
@pytest.mark.parametrize("change", ["options", *(pytest.param(c, marks=pytest.mark.slow) for c in ("input", "model"))])
def test_another_run_is_not_resumed(change: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(local_engine, "write_tables", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt()))
        assert explain() == 130
    if change == "input":
        pandas.read_csv("data.csv").iloc[::-1].to_csv("data.csv", index=False)
    if change == "model":
        load("model").set_params(random_state=7).save("model")
    assert explain("--resume", *(["--target", "latent"] if change == "options" else [])) == 1
    said = capsys.readouterr().err
    assert {"options": "options target", "input": "input sha256", "model": "model was"}[change] in said
    assert Path("out.parquet.parts").is_dir()
    assert explain("--overwrite") == 0


@pytest.mark.usefixtures("place")
def test_a_second_run_waits_for_the_first(capsys: Capture) -> None:
    Path("out.parquet.parts").mkdir()
    with parts.Parts(Path("out.parquet.parts")).alone():
        assert explain("--resume") == 1
    assert "second" in capsys.readouterr().err


BAD = {
    "empty": ("data.csv", b"", ["empty"]),
    "names only": ("data.csv", b"a,b,c\n", ["at least one row"]),
    "missing column": ("data.csv", b"a,b\n1,2\n", ["'c'"]),
    "text in numbers": ("data.csv", b"a,b,c\n1,2,x\n3,4,y\n5,six,z\n", ["'b'", "'six'", "row 2"]),
    "ragged": ("data.csv", b"a,b,c\n1,2,x\n3,4\n", ["row 1"]),
    "twice the same name": ("data.csv", b"a,b,c,c\n1,2,x,y\n", ["'c'"]),
    "no model": ("model/model.json", b"{}", ["model.json"]),
    "no parquet": ("data.parquet", b"PAR?", ["data.parquet"]),
}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("case", BAD)
def test_bad_input_ends_in_a_sentence(case: str, capsys: Capture) -> None:
    name, content, words = BAD[case]
    Path(name).write_bytes(content)
    Path("out.parquet").write_text("years of work")
    data = name if name.startswith("data") else "data.csv"
    assert main(["explain", "model", data, "--out", "out.parquet", "--overwrite"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("gplens: expected")
    assert all(word in said for word in words), said
    assert "Traceback" not in said
    assert Path("out.parquet").read_text() == "years of work"
    assert not Path("out.parquet.parts").exists()  # the corrected file is explained by the same line


@pytest.mark.usefixtures("place")
def test_text_in_a_numeric_column_of_parquet_is_named_with_its_row(capsys: Capture) -> None:
    pandas.DataFrame({"a": [None, "1.0"], "b": [1.0, 2.0], "c": ["x", "y"]}).to_parquet("data.parquet")
    assert main(["explain", "model", "data.parquet", "--out", "out.parquet"]) == 1
    said = capsys.readouterr().err
    assert all(word in said for word in ("'a'", "'1.0'", "row 1"))


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("out", "word"), [("no/where.csv", "no"), ("model", "ends in"), ("/proc/out.csv", "/proc"), ("out.xlsx", "ends in")]
)
def test_an_output_that_cannot_be_written(out: str, word: str, capsys: Capture) -> None:
    assert main(["explain", "model", "data.csv", "--out", out]) == 1
    assert word in capsys.readouterr().err


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "option",
    [("--baseline", "median"), ("--baseline", "row:99"), ("--baseline", "row:x"), ("--target", "exceeds:many")],
)
def test_names_that_are_not_known(option: tuple[str, str], capsys: Capture) -> None:
    assert explain(*option) == 1
    said = capsys.readouterr().err
    assert option[1].partition(":")[2] in said
    assert "expected" in said


@pytest.mark.usefixtures("place")
def test_a_mistake_in_the_line_has_exit_code_two_and_debug_shows_a_traceback(capsys: Capture) -> None:
    assert main(["explain", "model", "data.csv"]) == 2
    assert main(["explain", "nothing", "data.csv", "--out", "out.csv", "--debug"]) == 1
    assert "Traceback" in capsys.readouterr().err
