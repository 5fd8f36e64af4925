"""`gplens explain --engine ray` with two workers: the rows of the local engine, whoever is killed in between."""

import subprocess
import sys
from pathlib import Path

import pytest
from pyarrow import parquet
from ray_processes import (
    Cluster,
    check_ended,
    environment,
    gplens,
    is_alive,
    listening_elsewhere,
    logs_of_client_servers,
    started,
    wait_until,
)
from scale_tables import check_same_rows, descendants, kill_one, read_results, table, workers_below, write_files

from gplens.batch import Explainer, Options
from gplens.scale.unit_task import fingerprint_of

LARGE, SMALL = 200_000, 6000
RECIPE, FAILURES = (Path(__file__).with_name(name) for name in ("ray_recipe.py", "ray_failures.py"))


def records_of(out: Path) -> set[str]:
    folder = out / "_gplens" / "records"
    return {path.stem for path in folder.glob("*.json")} if folder.is_dir() else set()


@pytest.mark.slow
def test_a_killed_worker_changes_nothing_in_200000_rows(cluster: Cluster, small_model: Path, tmp_path: Path) -> None:
    """64 files on two workers, one of which is killed in the middle, against 65 files on the local engine."""
    model, rows, out = small_model / "model", table(LARGE), tmp_path / "ray"
    few, more = (write_files(tmp_path / str(n), rows, files=n, group=2500) for n in (64, 65))
    line = ["explain", model, few, "--out", out, "--engine", "ray", "--address", cluster.address, "--workers", "2"]
    with started(*line, env=cluster.environment()) as command:
        wait_until(lambda: len(records_of(out)) > 10 or command.poll() is not None)
        wait_until(lambda: len(workers_below(cluster.pid, "Worker")) == 2 or command.poll() is not None)
        workers = workers_below(cluster.pid, "Worker")
        assert len(workers) == 2
        killed, before = kill_one(workers), len(records_of(out))
        said, remarks = command.communicate()
    assert command.returncode == 0, remarks
    assert before < 128, "the worker was killed in the middle"
    assert not is_alive(killed)
    errors = len(range(5, LARGE, 97))
    assert f"{LARGE:,} rows in 128 parts" in said
    assert "rows per second" in said
    assert f"{errors:,} rows could not be explained" in said
    assert not workers_below(cluster.pid, "Worker")
    local = gplens("explain", model, more, "--out", tmp_path / "local", env=environment())
    assert f"{LARGE:,} rows in 130 parts" in local.stdout, local.stderr
    check_same_rows(read_results(out), read_results(tmp_path / "local"))
    assert read_results(out)["row"].to_pylist() == list(range(LARGE))


@pytest.mark.slow
def test_a_killed_command_goes_on_and_leaves_no_process(small_model: Path, tmp_path: Path) -> None:
    """The command starts a cluster of its own, on the loopback interface; SIGKILL ends it with the cluster, and
    `--resume` repeats nothing that was finished and ends as if undisturbed."""
    pytest.importorskip("ray", reason="Ray is not installed")
    data, out = write_files(tmp_path / "data", table(10 * SMALL), files=6, group=1000), tmp_path / "out"
    line = ["explain", small_model / "model", f"{data}/*.parquet", "--out", out, "--engine", "ray", "--workers", "2"]
    with started(*line, env=environment()) as command:
        wait_until(lambda: bool(records_of(out)) or command.poll() is not None)
        processes = descendants(command.pid)
        elsewhere = listening_elsewhere([command.pid, *processes])
        command.kill()
        command.communicate()
    assert not elsewhere
    assert len(processes) > 3
    check_ended(processes)
    finished = records_of(out)
    times = {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in finished}
    assert 0 < len(finished) < 60
    again = gplens(*line, "--resume", env=environment())
    assert again.returncode == 0, again.stderr
    assert "60,000 rows in 60 parts" in again.stdout
    assert f"{1000 * len(finished):,} of them were done by the run before" in again.stdout
    assert {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in finished} == times
    gplens("explain", small_model / "model", data, "--out", tmp_path / "local", env=environment())
    check_same_rows(read_results(out), read_results(tmp_path / "local"))


@pytest.mark.slow
def test_a_model_that_a_worker_cannot_load_is_a_sentence(cluster: Cluster, small_model: Path, tmp_path: Path) -> None:
    """The path of the model is that of the working folder, which is another one in the processes of the cluster."""
    data = write_files(tmp_path / "data", table(100), files=1, group=50)
    line = ["explain", "/proc/self/cwd/model", data, "--out", tmp_path / "out", "--engine", "ray", "--workers", "1"]
    run = gplens(*line, "--address", cluster.address, env=cluster.environment(), cwd=small_model)
    assert run.returncode == 1
    assert run.stderr.startswith("gplens: expected the model /proc/self/cwd/model on every worker, got")
    assert "URL" in run.stderr
    assert "Traceback" not in run.stderr
    assert not workers_below(cluster.pid, "Worker")


@pytest.mark.slow
def test_the_client_of_ray_gives_the_same_rows(cluster: Cluster, small_model: Path, tmp_path: Path) -> None:
    """`--address ray://...`, as from a machine outside of the cluster, where Ray's own client can connect."""
    connect = f"import ray; ray.init({cluster.client!r})"
    bare = [subprocess.run([sys.executable, "-c", connect], env=cluster.environment(), check=False) for _ in range(3)]
    if all(process.returncode for process in bare):
        pytest.skip(f"Ray's own client cannot connect on this machine: {logs_of_client_servers(cluster)}")
    rows = table(SMALL)
    data = write_files(tmp_path / "data", rows, files=3, group=1000)
    line = ["explain", small_model / "model", data, "--out", tmp_path / "out", "--keep", "key", "--engine", "ray"]
    run = gplens(*line, "--address", cluster.client, "--workers", "2", env=cluster.environment())
    assert run.returncode == 0, run.stderr + logs_of_client_servers(cluster)
    got = read_results(tmp_path / "out").drop_columns(["row"])
    check_same_rows(got, Explainer(small_model / "model", Options(keep=("key",)))(rows))


@pytest.mark.slow
def test_the_cluster_that_this_machine_belongs_to(cluster: Cluster, small_model: Path, tmp_path: Path) -> None:
    """`--address auto`: Ray writes the address of the cluster into its folder of temporary files."""
    rows = table(SMALL)
    data = write_files(tmp_path / "data", rows, files=3, group=1000)
    line = ["explain", small_model / "model", data, "--out", tmp_path / "out", "--keep", "key", "--engine", "ray"]
    variables = cluster.environment(RAY_TMPDIR=str(cluster.temporary))
    run = gplens(*line, "--address", "auto", "--workers", "2", env=variables)
    assert run.returncode == 0, run.stderr
    got = read_results(tmp_path / "out").drop_columns(["row"])
    check_same_rows(got, Explainer(small_model / "model", Options(keep=("key",)))(rows))


@pytest.mark.slow
def test_the_recipe_of_ray_data_and_the_threads_of_an_actor(
    cluster: Cluster, small_model: Path, tmp_path: Path
) -> None:
    """docs/SCALE.md, for those who have a pipeline of Ray Data; and an actor of two CPUs has two threads."""
    rows = table(SMALL)
    data, out = write_files(tmp_path / "data", rows, files=3, group=1000), tmp_path / "out.parquet"
    words = [sys.executable, str(RECIPE), str(small_model / "model"), str(data), str(out)]
    env = cluster.environment(RAY_ADDRESS=cluster.address)
    run = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "threads: 2 2" in run.stdout
    expected = Explainer(small_model / "model", Options(keep=("key",)))(rows)
    check_same_rows(parquet.read_table(out).sort_by("key"), expected)


@pytest.mark.slow
def test_another_model_and_missing_cpus_are_sentences(cluster: Cluster, small_model: Path, tmp_path: Path) -> None:
    """A worker whose model folder is not the driver's, and one for which there are never enough CPUs."""
    model, data = small_model / "model", write_files(tmp_path / "data", table(100), files=1, group=50)
    words = [sys.executable, str(FAILURES), str(model), str(data), str(tmp_path / "out"), cluster.address]
    run = subprocess.run(words, env=cluster.environment(), capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    another, waiting = [line for line in run.stdout.splitlines() if "Error" in line]
    assert another.startswith("ValueError")
    assert fingerprint_of(model)[:12] in another
    assert "0" * 12 in another
    assert waiting.startswith("TimeoutError")
    assert "1000" in waiting
