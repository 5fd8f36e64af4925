"""CSV and Parquet files in pieces: every row once, in order, whatever the blocks and groups of the file are."""

import gzip
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from gplens.batch.sources import Source, row_of

ROWS = [(i, "p" if i % 3 else None) for i in range(25)]


@pytest.fixture
def pieces_of_four(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gplens.batch.sources.PIECE", 4)


def text(separator: str) -> str:
    lines = [f"{i}{separator}{'' if p is None else p}" for i, p in ROWS]
    return "\n".join([f"i{separator}p", *lines, ""])


def write(path: Path) -> None:
    if path.suffix == ".parquet":
        columns = {"i": [float(i) for i, _ in ROWS], "p": [p for _, p in ROWS]}
        parquet.write_table(pyarrow.table(columns), path, row_group_size=10)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text(",").encode()))
    else:
        path.write_text(text(";" if "semicolon" in path.name else "\t" if path.suffix == ".tsv" else ","))


@pytest.mark.usefixtures("pieces_of_four")
@pytest.mark.parametrize("name", ["a.csv", "semicolon.csv", "a.tsv", "a.csv.gz", "a.parquet"])
def test_every_row_comes_once_and_in_order(name: str, tmp_path: Path) -> None:
    write(tmp_path / name)
    source = Source(tmp_path / name)
    pieces = list(source.pieces(["p", "i"], {"i": pyarrow.float64()}))
    assert max(piece.num_rows for piece in pieces) == 4
    table = pyarrow.concat_tables(pieces)
    assert list(zip(table["i"].to_pylist(), table["p"].to_pylist(), strict=True)) == ROWS
    assert source.whole()["i"].to_pylist() == [i for i, _ in ROWS]
    assert row_of(source, 13, ["i"], {}) == {"i": 13}


@pytest.mark.usefixtures("pieces_of_four")
def test_pieces_of_parquet_do_not_cross_row_groups(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet")
    assert [p.num_rows for p in Source(tmp_path / "a.parquet").pieces(["i"], {})] == [4, 4, 2, 4, 4, 2, 4, 1]


def test_types_suit_the_whole_column(tmp_path: Path) -> None:
    """Numbers that are whole at first and not later."""
    (tmp_path / "a.csv").write_text("x\n" + "1\n" * 600_000 + "2.5\n")
    assert Source(tmp_path / "a.csv").whole()["x"].to_pylist()[-1] == 2.5


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.xlsx", b"", ".parquet"),
        ("missing.csv", None, "missing.csv"),
        ("a.csv", b"\xff\xfex,y\n1,\xff\n", "a.csv"),
        ("a.parquet", b"x,y\n1,2\n", "a.parquet"),
    ],
)
def test_other_files_are_refused(name: str, content: bytes | None, words: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((ValueError, FileNotFoundError), match=words):
        Source(tmp_path / name).whole()
