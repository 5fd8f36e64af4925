"""What `--engine ray` refuses, from the command line and without a cluster: a sentence and an exit code."""

import shutil
import sys
from contextlib import nullcontext
from pathlib import Path

import pyarrow
import pytest
import torch
from pyarrow import parquet
from scale_tables import table, write_files

from gplens.batch import Options
from gplens.cli.main import main
from gplens.scale import ray_cluster
from gplens.scale.places import Place
from gplens.scale.ray_engine import Ray, Worker
from gplens.scale.unit_task import UnitTask
from messages import naming

Capture = pytest.CaptureFixture[str]


def refused(line: list[str], capsys: Capture) -> str:
    """What a command says that ends with the exit code 1."""
    assert main(line) == 1
    *_, said = capsys.readouterr().err.splitlines()  # what is being done may stand before it
    assert said.startswith("gplens: ")
    return said


@pytest.mark.parametrize(
    ("further", "words"),
    [
        (["--engine", "ray", "--address", "127.0.0.1:1"], ["127.0.0.1:1", "ray start"]),
        (["--engine", "ray", "--address", "ray://127.0.0.1:1"], ["ray://127.0.0.1:1"]),
        (["--engine", "ray", "--address", "ray://"], ["HOST"]),
        (["--workers", "2"], ["--engine ray"]),
    ],
)
def test_addresses_and_engines(
    further: list[str], words: list[str], small_model: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    data = write_files(tmp_path / "data", table(20), files=1, group=20)
    line = ["explain", str(small_model / "model"), str(data), "--out", str(tmp_path / "out"), *further]
    said = refused(line, capsys)
    assert "expected" in said
    assert all(word in said for word in words), said
    assert not (tmp_path / "out").exists()  # so that the corrected command finds a new folder


def test_an_engine_that_does_not_exist(small_model: Path, tmp_path: Path, capsys: Capture) -> None:
    line = ["explain", str(small_model / "model"), str(tmp_path), "--out", str(tmp_path / "out"), "--engine", "spark"]
    assert main(line) == 2  # a mistake in the command
    said = capsys.readouterr().err
    assert "spark" in said
    assert "ray" in said


def test_an_address_of_a_fit(tmp_path: Path, capsys: Capture) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    rows = table(200).append_column("y", pyarrow.array(torch.arange(200.0).sin().numpy()))
    data = write_files(tmp_path / "data", rows, files=2, group=100)
    line = ["fit", str(data), "--target", "y", "--out", str(tmp_path / "model"), "--engine", "ray"]
    assert "127.0.0.1:1" in refused([*line, "--address", "127.0.0.1:1"], capsys)
    assert not (tmp_path / "model").exists()


def test_files_outputs_and_models(small_model: Path, tmp_path: Path, capsys: Capture) -> None:
    """Mixed schemas, an output that exists, and models that cannot be loaded, before a cluster is asked for."""
    rows = table(40)
    data, model = write_files(tmp_path / "data", rows, files=2, group=20), str(small_model / "model")
    ray = ["--engine", "ray", "--address", "127.0.0.1:1"]
    mixed = shutil.copytree(data, tmp_path / "mixed")
    parquet.write_table(rows.set_column(1, "b", rows["b"].cast(pyarrow.string())), mixed / "0002.parquet")
    said = refused(["explain", model, str(mixed), "--out", str(tmp_path / "out"), *ray], capsys)
    assert all(word in said for word in ("'b'", "double", "string", "0002.parquet"))
    assert not (tmp_path / "out").exists()
    assert main(["explain", model, str(data), "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    said = refused(["explain", model, str(data), "--out", str(tmp_path / "out"), *ray], capsys)
    assert "--resume" in said
    assert "--overwrite" in said
    said = refused(["explain", str(tmp_path / "none"), str(data), "--out", str(tmp_path / "new"), *ray], capsys)
    assert "none" in said
    spoilt = shutil.copytree(small_model / "model", tmp_path / "spoilt")
    weights = next(spoilt.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-8])
    said = refused(["explain", str(spoilt), str(data), "--out", str(tmp_path / "new"), *ray], capsys)
    assert weights.name in said
    assert not (tmp_path / "new").exists()


def test_without_ray_the_error_says_what_to_install(
    small_model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    data = write_files(tmp_path / "data", table(20), files=1, group=20)
    line = ["explain", str(small_model / "model"), str(data), "--out", str(tmp_path / "out")]
    assert "[ray]" in refused([*line, "--engine", "ray"], capsys)
    assert main([*line, "--resume"]) == 0
    assert "20 rows in 1 parts" in capsys.readouterr().out


def test_numbers_of_workers() -> None:
    with pytest.raises(ValueError, match=naming("workers", "0")):
        Ray(workers=0)


def test_threads_follow_the_cpus_of_a_worker(small_model: Path, tmp_path: Path) -> None:
    before, arrow = torch.get_num_threads(), pyarrow.cpu_count()
    task = UnitTask(Place.of(small_model / "model"), "", Options(), Place.of(tmp_path))
    try:
        Worker(task, before + 1)
        assert (torch.get_num_threads(), pyarrow.cpu_count()) == (before + 1, before + 1)
    finally:
        torch.set_num_threads(before)
        pyarrow.set_cpu_count(arrow)


@pytest.mark.parametrize(("deaths", "answer"), [(0, None), (2, None), (3, "client server failed")])
def test_a_server_of_a_client_that_dies_at_its_start(
    deaths: int, answer: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray's proxy starts one for each client, and says so if it dies; that is tried again, and then refused."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    calls: list[str] = []

    def init(address: str, **_: object) -> None:
        calls.append(address)
        if len(calls) <= deaths:
            raise ConnectionError("Initialization failure from server:\nStarting Ray client server failed. See x.err")

    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray_cluster, "check_reachable", lambda address: None)
    monkeypatch.setattr(ray_cluster, "PAUSE", 0.0)
    outcome = nullcontext() if answer is None else pytest.raises(ConnectionError, match=answer)
    with outcome, ray_cluster.connected("ray://host:1"):
        pass
    assert calls == ["ray://host:1"] * min(deaths + 1, 3)
