"""Ray in processes of its own: a cluster on the loopback interface, commands that use it, and what they leave behind.

Ray is never started in the process of the tests. It leaves subprocesses and files there that are closed by the garbage
collector, and so warnings, which are errors, in whatever test runs then.
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scale_tables import descendants

GPLENS = (sys.executable, "-c", "import sys; from gplens.cli.main import main; sys.exit(main())")
"""`gplens` in a process of its own, without the run-time check of axes, which takes most of the time here."""
SLOW_START = {"RAY_raylet_start_wait_time_s": "120", "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S": "120"}
"""A machine that is busy with other tests takes longer than the 30 seconds that Ray allows for starts."""
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes `ray start` keep the address 127.0.0.1, and makes those who connect to it do so."""
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
"""Clusters of the tests let nobody else in; without a token of theirs, Ray would write one to the home folder."""
ENDING = 120.0
"""Seconds after which no process is left. Ray's agents look for the end of the others now and then."""


@dataclass(frozen=True)
class Cluster:
    """A cluster that was started by `ray start`."""

    pid: int
    address: str
    client: str
    """The address for Ray's client."""
    temporary: Path
    """The folder in which it has its folder `ray` of temporary files."""

    def environment(self, **further: str) -> dict[str, str]:
        return environment(**LOOPBACK, **further)


def environment(**further: str) -> dict[str, str]:
    """The variables of this process, without those that name a cluster."""
    outer = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    return outer | SLOW_START | TOKEN | further


def gplens(*words: object, env: dict[str, str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run([*GPLENS, *map(str, words)], env=env, cwd=cwd, capture_output=True, text=True, check=False)


@contextmanager
def started(*words: object, env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A command that runs; it is killed with the block if it has not ended."""
    with subprocess.Popen(
        [*GPLENS, *map(str, words)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        try:
            yield command
        finally:
            command.kill()


@contextmanager
def ray_cluster(cpus: int) -> Iterator[Cluster]:
    """A cluster with so many CPUs, all ports of which are on the loopback interface; none of its processes is left."""
    folder = Path(tempfile.mkdtemp(prefix="gpl"))  # a short path: it is a part of the names of sockets
    port, client = free_port(), free_port()
    options = {"port": port, "ray-client-server-port": client, "num-cpus": cpus, "object-store-memory": 100 * 2**20}
    options |= {"node-ip-address": "127.0.0.1", "include-dashboard": "false", "temp-dir": folder / "ray"}
    words = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--disable-usage-stats"]
    words += [f"--{name}={value}" for name, value in options.items()]
    with (folder / "log").open("w") as log:
        head = subprocess.Popen(words, cwd=folder, env=environment(**LOOPBACK), stdout=log, stderr=log)
    processes: dict[int, str] = {}
    try:
        wait_until(lambda: "Ray runtime started" in (folder / "log").read_text() or head.poll() is not None)
        assert head.poll() is None, (folder / "log").read_text()
        yield Cluster(head.pid, f"127.0.0.1:{port}", f"ray://127.0.0.1:{client}", folder)
        processes = descendants(head.pid)
        assert not (elsewhere := listening_elsewhere(processes)), elsewhere
    finally:
        processes |= descendants(head.pid)
        head.send_signal(signal.SIGTERM)
        head.wait(ENDING)
        check_ended(processes)
        shutil.rmtree(folder, ignore_errors=True)


def logs_of_client_servers(cluster: Cluster) -> str:
    """What the processes wrote that serve Ray's clients."""
    paths = sorted((cluster.temporary / "ray" / "session_latest" / "logs").glob("ray_client_server*"))
    return "\n".join(f"{path.name}:\n{path.read_text()}" for path in paths)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_until(condition: Callable[[], bool], seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"not within {seconds:g} seconds"
        time.sleep(0.05)


def check_ended(processes: Iterable[int]) -> None:
    """No process is left some time later."""
    until, left = time.monotonic() + ENDING, set(processes)
    while (left := {pid for pid in left if is_alive(pid)}) and time.monotonic() < until:
        time.sleep(0.2)
    assert not left, {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in left}


def is_alive(pid: int) -> bool:
    """Whether a process is there and is more than an entry that nobody has read yet."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def listening_elsewhere(processes: Iterable[int]) -> dict[str, int]:
    """Addresses other than those of the loopback interface at which some processes listen, with their ids."""
    sockets = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A":  # it listens
                sockets[inode] = local
    found = {}
    for pid in processes:
        try:
            links = [os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:  # it has ended
            continue
        inodes = [match[1] for link in links if (match := re.fullmatch(r"socket:\[(\d+)\]", link))]
        found |= {sockets[inode]: pid for inode in inodes if inode in sockets and not is_loopback(sockets[inode])}
    return found


def is_loopback(local: str) -> bool:
    """Of an address as the kernel prints it: words of four bytes in the order of this machine."""
    address = local.partition(":")[0]
    words = [bytes.fromhex(address[k : k + 8])[::-1] for k in range(0, len(address), 8)]
    whole = b"".join(words)
    text = socket.inet_ntop(socket.AF_INET if len(whole) == 4 else socket.AF_INET6, whole)
    return text == "::1" or text.removeprefix("::ffff:").startswith("127.")
