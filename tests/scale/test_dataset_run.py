"""Many files in, a folder out: one row for each row, whatever the files are, and whatever happens in between."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import fsspec
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet
from scale_tables import check_same_rows, read_results, table, write_files

from gplens.batch import Options, explain_file
from gplens.scale import Engine, Local, explain_dataset, read_work_list
from gplens.scale.run_folder import Record, RunFolder
from gplens.scale.unit_task import UnitTask
from gplens.scale.work_list import Unit
from messages import naming

ROWS = 600


@pytest.fixture(scope="module")
def place(small_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some rows in five files of several row groups, and their results."""
    folder = tmp_path_factory.mktemp("scale")
    write_files(folder / "data", table(ROWS), files=5, group=50)
    explain_dataset(small_model / "model", folder / "data", folder / "out", Options(keep=("key",)))
    return folder


class CrashError(Exception):
    pass


class StopAfter(Engine):
    """Does some units, and then fails."""

    def __init__(self, units: int) -> None:
        self.units = units

    def run(self, task: UnitTask, units: Sequence[Unit]) -> Iterator[Record]:
        yield from map(task, units[: self.units])
        raise CrashError


def test_many_files_give_the_rows_of_one(place: Path, small_model: Path, tmp_path: Path) -> None:
    """`explain_file`, which divides the rows in another way, is the oracle."""
    parquet.write_table(table(ROWS), tmp_path / "one.parquet")
    explain_file(small_model / "model", tmp_path / "one.parquet", tmp_path / "out.parquet", Options(keep=("key",)))
    expected = parquet.read_table(tmp_path / "out.parquet")
    got = read_results(place / "out")
    check_same_rows(got, expected)
    assert got["row"].to_pylist() == list(range(ROWS))
    assert got["key"].to_pylist() == [7 * k for k in range(ROWS)]
    assert got["error"].null_count == ROWS - len(range(5, ROWS, 97))


def test_the_counts_are_those_of_the_rows(place: Path, small_model: Path, tmp_path: Path) -> None:
    told: list[tuple[int, bool]] = []
    outcome = explain_dataset(
        small_model / "model",
        str(place / "data" / "*.parquet"),
        tmp_path / "out",
        rows=300,
        advance=lambda *step: told.append(step),
    )
    assert (outcome.rows, outcome.resumed, outcome.errors) == (300, 0, len(range(5, 300, 97)))
    assert sum(count for count, resumed in told if not resumed) == 300
    assert outcome.rate > 0
    check_same_rows(read_results(tmp_path / "out"), read_results(place / "out").slice(0, 300).drop_columns(["key"]))


@pytest.mark.slow
@pytest.mark.parametrize("files", [4, 7])
def test_the_number_of_files_does_not_matter(files: int, place: Path, small_model: Path, tmp_path: Path) -> None:
    data = write_files(tmp_path / "data", table(ROWS), files=files, group=150)
    explain_dataset(small_model / "model", data, tmp_path / "out", Options(keep=("key",)))
    check_same_rows(read_results(tmp_path / "out"), read_results(place / "out"))


def test_a_run_that_fails_goes_on_and_repeats_nothing(place: Path, small_model: Path, tmp_path: Path) -> None:
    options, out = Options(keep=("key",)), tmp_path / "out"
    with pytest.raises(CrashError):
        explain_dataset(small_model / "model", place / "data", out, options, engine=StopAfter(4))
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.parquet")}
    assert len(before) == 4
    outcome = explain_dataset(small_model / "model", place / "data", out, options, resume=True)
    assert outcome.resumed == sum(unit.rows for unit in read_work_list(place / "data").units[:4])
    assert all((out / name).stat().st_mtime_ns == time for name, time in before.items())
    check_same_rows(read_results(out), read_results(place / "out"))


def test_a_crash_between_part_and_record_repeats_the_unit(
    place: Path, small_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part is there, its record is not. The part is spoilt on purpose, so that only repeating it can succeed."""

    def crash(folder: RunFolder, record: Record) -> None:
        raise CrashError

    options, out = Options(keep=("key",)), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "record", crash)
        with pytest.raises(CrashError):
            explain_dataset(small_model / "model", place / "data", out, options)
    (part,) = out.glob("*.parquet")
    parquet.write_table(parquet.read_table(part).slice(0, 3), part)
    assert explain_dataset(small_model / "model", place / "data", out, options, resume=True).resumed == 0
    check_same_rows(read_results(out), read_results(place / "out"))


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated part", "no part", "truncated record", "record of another part"])
def test_damaged_parts_and_records_are_repeated(damage: str, place: Path, small_model: Path, tmp_path: Path) -> None:
    out = shutil.copytree(place / "out", tmp_path / "out")
    part, records = out / "000002-00001.parquet", out / "_gplens" / "records"
    record = records / "000002-00001.json"
    if damage == "truncated part":
        part.write_bytes(part.read_bytes()[:-9])
    elif damage == "no part":
        part.unlink()
    elif damage == "truncated record":
        record.write_bytes(record.read_bytes()[:-9])
    else:
        record.write_bytes((records / "000000-00000.json").read_bytes())
    outcome = explain_dataset(small_model / "model", place / "data", out, Options(keep=("key",)), resume=True)
    assert ROWS - outcome.resumed == 50
    check_same_rows(read_results(out), read_results(place / "out"))


def test_parts_that_belong_to_no_unit_are_noticed(place: Path, small_model: Path, tmp_path: Path) -> None:
    out = shutil.copytree(place / "out", tmp_path / "out")
    shutil.copy(out / "000000-00000.parquet", out / "stranger.parquet")
    with pytest.raises(OSError, match=naming("stranger")):
        explain_dataset(small_model / "model", place / "data", out, Options(keep=("key",)), resume=True)


def test_a_record_with_another_number_of_rows_is_noticed(place: Path, small_model: Path, tmp_path: Path) -> None:
    """One row out for each row in is checked with the parts themselves, not with what was said of them."""
    out = shutil.copytree(place / "out", tmp_path / "out")
    part, record = out / "000001-00000.parquet", out / "_gplens" / "records" / "000001-00000.json"
    parquet.write_table(parquet.read_table(part).slice(1), part)
    record.write_text(json.dumps({**json.loads(record.read_text()), "size": part.stat().st_size}))
    with pytest.raises(OSError, match=naming("49", "50")):
        explain_dataset(small_model / "model", place / "data", out, Options(keep=("key",)), resume=True)


def test_changes_under_an_old_manifest_are_named(place: Path, small_model: Path, tmp_path: Path) -> None:
    data, out = shutil.copytree(place / "data", tmp_path / "data"), tmp_path / "out"
    model = shutil.copytree(small_model / "model", tmp_path / "model")
    with pytest.raises(CrashError):
        explain_dataset(model, data, out, engine=StopAfter(1))
    with pytest.raises(ValueError, match=naming("uncertainty", "false", "true")):
        explain_dataset(model, data, out, Options(uncertainty=True), resume=True)
    with pytest.raises(ValueError, match=naming("rows", "10")):
        explain_dataset(model, data, out, rows=10, resume=True)
    rows = parquet.read_table(data / "0003.parquet").to_pandas()
    rows.loc[17, "b"] += 1e-9
    parquet.write_table(pyarrow.Table.from_pandas(rows), data / "0003.parquet", row_group_size=50)
    with pytest.raises(ValueError, match=naming("0003.parquet")):
        explain_dataset(model, data, out, resume=True)
    shutil.copytree(place / "data", data, dirs_exist_ok=True)
    shutil.copy(data / "0003.parquet", data / "0009.parquet")
    with pytest.raises(ValueError, match=naming("0009.parquet")):
        explain_dataset(model, data, out, resume=True)
    (model / "model.json").write_text((model / "model.json").read_text() + " ")
    with pytest.raises(ValueError, match=naming("SHA-256")):
        explain_dataset(model, data, out, resume=True)


def test_an_output_that_exists_is_kept(place: Path, small_model: Path, tmp_path: Path) -> None:
    out = shutil.copytree(place / "out", tmp_path / "out")
    with pytest.raises(FileExistsError, match=naming("--resume", "--overwrite")):
        explain_dataset(small_model / "model", place / "data", out)
    assert explain_dataset(small_model / "model", place / "data", out, rows=20, overwrite=True).parts == 1
    assert len(list(out.glob("*.parquet"))) == 1
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("ten years")
    with pytest.raises(FileExistsError, match=naming("mine")):
        explain_dataset(small_model / "model", place / "data", tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "ten years"


def test_files_of_other_schemas_are_refused_before_the_work(small_model: Path, tmp_path: Path) -> None:
    rows = table(50)
    data = write_files(tmp_path / "data", rows, files=2, group=50)
    texts = rows.set_column(1, "b", rows["b"].cast(pyarrow.string()))
    parquet.write_table(texts, data / "0002.parquet")
    with pytest.raises(ValueError, match=naming("'b'", "double", "string", "0002.parquet")):
        explain_dataset(small_model / "model", data, tmp_path / "out")
    parquet.write_table(rows.drop_columns(["b"]), data / "0002.parquet")
    with pytest.raises(ValueError, match=naming("'b'", "0002.parquet")):
        explain_dataset(small_model / "model", data, tmp_path / "out")
    (data / "0002.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=naming("0002.parquet")):
        explain_dataset(small_model / "model", data, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_no_files_and_no_rows_are_refused(small_model: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("nothing")):
        explain_dataset(small_model / "model", str(tmp_path / "nothing*.parquet"), tmp_path / "out")
    parquet.write_table(table(0), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match=naming("empty.parquet")):
        explain_dataset(small_model / "model", tmp_path / "empty.parquet", tmp_path / "out")
    with pytest.raises(ValueError, match=naming("nosuch")):
        explain_dataset(small_model / "model", "nosuch://bucket/data", tmp_path / "out")


def test_urls_serve_for_model_input_and_output(place: Path, small_model: Path) -> None:
    """memory:// shares no code with files: everything goes through fsspec."""
    memory = fsspec.filesystem("memory")
    memory.put(str(place / "data"), "/run/data", recursive=True)
    memory.put(str(small_model / "model"), "/run/model", recursive=True)
    try:
        with pytest.raises(CrashError):
            explain_dataset("memory://run/model", "memory://run/data", "memory://run/out", engine=StopAfter(3))
        outcome = explain_dataset("memory://run/model", "memory://run/data", "memory://run/out", resume=True)
        assert 0 < outcome.resumed < outcome.rows == ROWS
        got = [parquet.read_table(memory.open(name)) for name in sorted(memory.glob("/run/out/*.parquet"))]
        check_same_rows(pyarrow.concat_tables(got), read_results(place / "out").drop_columns(["key"]))
    finally:
        memory.rm("/run", recursive=True)


def test_rows_are_divided_by_row_group_and_counted_on(place: Path) -> None:
    work = read_work_list([place / "data" / "0001.parquet", place / "data"])
    assert work.rows == ROWS, "a file that is named twice counts once"
    assert [unit.first for unit in work.units] == np.cumsum([0, *(unit.rows for unit in work.units)])[:-1].tolist()
    assert work.row(331, ["key"]) == {"key": 7 * 331}
    assert Local() == Local()
