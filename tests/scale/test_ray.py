"""A Ray cluster of two workers on the loopback interface: the rows of the local engine, also if workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pyarrow
import pytest
import torch
from scale_tables import check_same_rows, descendants, kill_one, read_results, table, workers_below, write_files

from gplens.batch import Explainer, Options
from gplens.cli.main import main
from gplens.estimators import GPRegressor, Training
from gplens.scale import Ray, explain_dataset, fit_dataset, read_work_list
from gplens.scale.places import Place
from gplens.scale.ray_cluster import connected
from gplens.scale.ray_engine import Worker
from gplens.scale.unit_task import UnitTask, fingerprint_of
from messages import naming

pytestmark = pytest.mark.skipif(
    "GPLENS_RAY_TESTS" not in os.environ,
    reason="a cluster is started only if GPLENS_RAY_TESTS is set: warnings of its processes fail other tests' set-up",
)
Capture = pytest.CaptureFixture[str]
LARGE, SMALL = 200_000, 6000
COMMAND = [sys.executable, "-c", "import sys; from gplens.cli.main import main; sys.exit(main())"]
"""`gplens` in a process of its own, without the run-time check of axes, which takes most of the time here."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two CPUs for workers and one for Ray Train's controller; ended after the tests of this file."""
    pytest.importorskip("ray", reason="Ray is not installed")
    with ExitStack() as ending:
        for attempt in range(3):  # a busy machine may be too slow for the 30 seconds that Ray allows for its start
            try:
                ending.enter_context(connected("local", cpus=3))
                break
            except ConnectionError:
                if attempt == 2:
                    raise
        started = descendants(os.getpid())
        yield
    check_ended(started)


def check_ended(processes: dict[int, str], seconds: float = 240.0) -> None:
    """No process is left some time later. Ray's agents look for the end of the others now and then."""
    until = time.monotonic() + seconds
    while (left := {pid: line for pid, line in processes.items() if is_alive(pid)}) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left, left


def is_alive(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody has read yet."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_a_killed_worker_changes_nothing_in_200000_rows(cluster: None, small_model: Path, tmp_path: Path) -> None:
    """64 files on two workers, one of which is killed in the middle, against 65 files on the local engine."""
    model, rows = small_model / "model", table(LARGE)
    few, more = (write_files(tmp_path / str(n), rows, files=n, group=2500) for n in (64, 65))
    killed: list[int] = []

    def advance(count: int, resumed: bool) -> None:
        if not killed and not resumed:
            killed.append(kill_one(workers_below(os.getpid(), "Worker")))

    outcome = explain_dataset(model, few, tmp_path / "ray", engine=Ray(workers=2), advance=advance)
    assert killed
    assert (outcome.rows, outcome.errors) == (LARGE, len(range(5, LARGE, 97)))
    local = [*COMMAND, "explain", str(model), str(more), "--out", f"{tmp_path}/local"]
    assert f"{LARGE:,} rows in 130 parts" in subprocess.run(local, check=True, capture_output=True, text=True).stdout
    check_same_rows(read_results(tmp_path / "ray"), read_results(tmp_path / "local"))
    assert read_results(tmp_path / "ray")["row"].to_pylist() == list(range(LARGE))


@pytest.mark.slow
def test_a_killed_command_goes_on_and_leaves_no_process(small_model: Path, tmp_path: Path) -> None:
    """The command starts a cluster of its own; SIGKILL ends it with the cluster, `--resume` ends as if undisturbed."""
    data, out = write_files(tmp_path / "data", table(10 * SMALL), files=6, group=2000), tmp_path / "out"
    line = [
        *COMMAND,
        "explain",
        str(small_model / "model"),
        f"{data}/*.parquet",
        "--out",
        str(out),
        "--engine",
        "ray",
        "--workers",
        "2",
    ]
    environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    command = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    records = out / "_gplens" / "records"
    while not (records.is_dir() and any(records.iterdir())):
        assert command.poll() is None
        time.sleep(0.05)
    started = descendants(command.pid)
    command.send_signal(signal.SIGKILL)
    command.wait()
    assert len(started) > 3
    check_ended(started)
    finished = {path.stem for path in records.iterdir()}
    times = {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in finished}
    assert 0 < len(finished) < 30
    again = subprocess.run([*line, "--resume"], env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "60,000 rows in 30 parts" in again.stdout
    assert f"{2000 * len(finished):,} of them were done by the run before" in again.stdout
    assert {name: (out / f"{name}.parquet").stat().st_mtime_ns for name in finished} == times
    local = [*COMMAND, "explain", str(small_model / "model"), str(data), "--out", f"{tmp_path}/local"]
    subprocess.run(local, check=True, capture_output=True)
    check_same_rows(read_results(out), read_results(tmp_path / "local"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
def test_what_fails_on_a_worker_is_a_sentence(cluster: None, small_model: Path, tmp_path: Path) -> None:
    """A model that is not there, another one than the driver's, and a unit that kills every worker."""
    work = read_work_list(write_files(tmp_path / "data", table(100), files=1, group=50))
    fingerprint, out = fingerprint_of(small_model / "model"), Place.of(tmp_path / "out")
    absent = UnitTask(Place.of(tmp_path / "nowhere"), fingerprint, Options(), out)
    with pytest.raises(OSError, match=naming("nowhere", "worker")):
        list(Ray(workers=1).run(absent, work.units))
    stale = UnitTask(Place.of(small_model / "model"), "0" * 64, Options(), out)
    with pytest.raises(ValueError, match=naming(fingerprint[:12], "0" * 12)):
        list(Ray(workers=1).run(stale, work.units))
    with pytest.raises(TimeoutError, match=naming("1000")):
        list(Ray(workers=1, cpus=1000, patience=2.0).run(stale, work.units))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_the_batch_function_serves_ray_data(cluster: None, small_model: Path, tmp_path: Path) -> None:
    """The recipe of docs/SCALE.md, for those who have a pipeline of Ray Data already."""
    import ray

    rows = table(SMALL)
    data, options = write_files(tmp_path / "data", rows, files=3, group=1000), Options(keep=("key",))
    results = ray.data.read_parquet(str(data)).map_batches(
        Explainer, fn_constructor_args=(small_model / "model", options), batch_format="pyarrow", concurrency=1
    )
    tables = [ray.get(reference) for reference in results.to_arrow_refs()]
    got = pyarrow.concat_tables(tables).sort_by("key")
    check_same_rows(got, Explainer(small_model / "model", options)(rows))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::FutureWarning")
def test_workers_fit_one_model_also_when_one_is_killed(cluster: None, tmp_path: Path) -> None:
    """Two fits with one seed, in the second of which a worker is killed: the same model. The bound is that of `fit`."""
    rows = table(SMALL)
    y = torch.sin(torch.tensor(rows["b"].to_numpy().copy())) + 0.3 * torch.randn(SMALL, generator=torch.manual_seed(0))
    rows = rows.append_column("y", pyarrow.array(y.numpy()))
    data = write_files(tmp_path / "data", rows, files=2, group=500)

    def estimator() -> GPRegressor:
        training = Training(steps=300, batch=200, stopping=None, checkpoint_every=20)
        return GPRegressor(inducing_points=15, random_state=0, training=training, progress=False, exact_rows=0)

    def fitted(name: str) -> GPRegressor:
        place = tmp_path / name
        model = fit_dataset(estimator(), data, "y", features=["a", "b", "c"], engine=Ray(workers=2), checkpoint=place)
        assert not place.exists()
        assert isinstance(model, GPRegressor)
        return model

    undisturbed, checkpoint, killed = fitted("first"), tmp_path / "second" / "checkpoint.safetensors", []

    def kill() -> None:
        while not checkpoint.exists():
            time.sleep(0.02)
        killed.append(kill_one(workers_below(os.getpid(), "RayTrainWorker")))

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    disturbed = fitted("second")
    assert killed
    assert disturbed.training_summary_["resumed_at_step"] > 0 == undisturbed.training_summary_["resumed_at_step"]
    for name, tensor in undisturbed.model_.state_dict().items():
        torch.testing.assert_close(disturbed.model_.state_dict()[name], tensor, rtol=1e-8, atol=1e-8)
    alone = estimator().fit(rows.select(["a", "b", "c"]), y.numpy())
    bounds = [model.training_summary_["elbo_per_row"] for model in (alone, undisturbed)]
    assert bounds[0] == pytest.approx(bounds[1], abs=0.05)
    assert undisturbed.training_summary_["workers"] == 2


def test_threads_follow_the_cpus_of_a_worker(small_model: Path, tmp_path: Path) -> None:
    before, arrow = torch.get_num_threads(), pyarrow.cpu_count()
    task = UnitTask(Place.of(small_model / "model"), "", Options(), Place.of(tmp_path))
    try:
        Worker(task, before + 1)
        assert (torch.get_num_threads(), pyarrow.cpu_count()) == (before + 1, before + 1)
    finally:
        torch.set_num_threads(before)
        pyarrow.set_cpu_count(arrow)


@pytest.mark.parametrize(
    ("further", "words"),
    [
        (["--engine", "ray", "--address", "127.0.0.1:1"], ["127.0.0.1:1", "ray start"]),
        (["--engine", "ray", "--address", "ray://127.0.0.1:1"], ["ray://127.0.0.1:1"]),
        (["--engine", "ray", "--address", "ray://"], ["HOST"]),
        (["--engine", "spark"], ["spark", "ray"]),
        (["--workers", "2"], ["--engine ray"]),
    ],
)
def test_bad_addresses_and_engines_are_sentences(
    further: list[str], words: list[str], small_model: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    data = write_files(tmp_path / "data", table(20), files=1, group=20)
    line = ["explain", str(small_model / "model"), str(data), "--out", str(tmp_path / "out"), *further]
    assert main(line) == 1
    said = capsys.readouterr().err
    assert said.startswith("gplens: expected")
    assert all(word in said for word in words), said


def test_without_ray_the_error_says_what_to_install(
    small_model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    data = write_files(tmp_path / "data", table(20), files=1, group=20)
    line = ["explain", str(small_model / "model"), str(data), "--out", str(tmp_path / "out")]
    assert main([*line, "--engine", "ray"]) == 1
    assert "[ray]" in capsys.readouterr().err
    assert main([*line, "--resume"]) == 0
    assert "20 rows in 1 parts" in capsys.readouterr().out
