"""A connection to a Ray cluster: a running one, or one of this machine that ends with the block."""

import logging
import os
import socket
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from gplens.adapters.hosts import Extra

REACH = 5.0
"""The seconds within which an address has to answer."""
OBJECTS = 100 * 2**20
"""The bytes of the object store of a cluster of this machine, through which no rows pass."""
LOOPBACK = "127.0.0.1"
CLIENT_PORT = 10001
"""The port of addresses that begin with ray:// and do not have one."""
ATTEMPTS = 3
"""The attempts to connect to a cluster that starts a server for this client: its process sometimes dies at once."""
PAUSE = 1.0
"""The seconds before the second attempt; twice as many before the third."""
NO_SERVER = "Starting Ray client server failed"
"""What the proxy of a cluster answers if that process died."""


def check_address(address: str | None) -> tuple[Any, str]:
    """The module `ray`, and the address of a connection, after a check that it answers.

    Raises:
        ImportError: if Ray is not installed.
        ConnectionError: if nothing answers at the address.
        ValueError: if an address is given and the process is already connected.
    """
    with Extra("ray", "gplens.scale.Ray"):
        import ray
    given = address or os.environ.get("RAY_ADDRESS") or "local"
    if ray.is_initialized():
        if address is not None:
            raise ValueError(
                f"expected no address in a process that is connected to a Ray cluster, got {address!r}; leave it out, "
                "or call ray.shutdown() first."
            )
    elif given not in ("local", "auto"):
        check_reachable(given)
    return ray, given


@contextmanager
def connected(address: str | None, *, cpus: int | None = None) -> Iterator[Any]:
    """The module `ray`, connected to a cluster.

    Args:
        address: "auto" for the cluster that this machine belongs to, "HOST:PORT" or "ray://HOST:PORT" for another one.
            None stands for the present connection of the process, else the address in RAY_ADDRESS, else a new cluster
            of this machine, on its loopback interface and without a dashboard, which ends with the block.
        cpus: the CPUs of a new cluster; all of this machine if None.

    Raises:
        ImportError: if Ray is not installed.
        ConnectionError: if there is no cluster at the address.
    """
    ray, given = check_address(address)
    if ray.is_initialized():
        yield ray
        return
    settings: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
    if given == "local":
        settings |= {"include_dashboard": False, "object_store_memory": OBJECTS, "_node_ip_address": LOOPBACK}
        settings |= {"num_cpus": cpus}
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):  # about accelerators, which are not used
            if given == "local":
                _start(ray, settings)
            else:
                _join(ray, given, settings)
    except Exception as cause:  # Ray also raises Exception itself, as when a busy machine does not start in time
        ray.shutdown()  # what has been started
        raise ConnectionError(_no_cluster(given, _reason(cause))) from cause
    try:
        yield ray
    finally:
        ray.shutdown()


def _start(ray: Any, settings: dict[str, Any]) -> None:
    """Start a cluster of this machine, with all ports on the loopback interface.

    Ray replaces 127.0.0.1 by the address of the machine in its network and listens on all interfaces, except where it
    does not support clusters, as on a Mac. Its setting for this is changed while it starts.
    """
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init("local", **settings)
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before
    if (got := ray.util.get_node_ip_address()) != LOOPBACK:
        raise ConnectionError(f"expected its processes to listen on {LOOPBACK}, got {got}")


def _join(ray: Any, address: str, settings: dict[str, Any]) -> None:
    """Connect to a running cluster.

    For addresses that begin with ray://, the cluster starts a process for this client. If the process dies at once,
    the connection is tried again.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            ray.init(address, **settings)
        except ConnectionError as cause:
            if NO_SERVER not in str(cause) or attempt == ATTEMPTS:
                raise
            ray.shutdown()
            time.sleep(PAUSE * attempt)
        else:
            return


def check_reachable(address: str) -> None:
    """Refuse an address where nothing answers, within seconds rather than a minute.

    Raises:
        ValueError: if it is not an address.
        ConnectionError: if nothing answers.
    """
    parts = urlsplit(address if "://" in address else f"//{address}")
    try:
        host, port = parts.hostname, parts.port or (CLIENT_PORT if parts.scheme == "ray" else None)
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("", "ray"):
        raise ValueError(f"expected an address such as auto, HOST:6379 or ray://HOST:10001, got {address!r}.")
    try:
        socket.create_connection((host, port), timeout=REACH).close()
    except OSError as cause:
        raise ConnectionError(_no_cluster(address, str(cause))) from cause


def _reason(cause: Exception) -> str:
    """The first line of an error of Ray, and the last line if the first only announces a traceback."""
    first, *others = [line.strip() for line in str(cause).splitlines() if line.strip()] or [type(cause).__name__]
    return f"{first} {others[-1]}" if first.endswith(":") and others else first


def _no_cluster(address: str, reason: str) -> str:
    if address == "local":
        return f"expected a Ray cluster of this machine to start, got none ({reason}); try again if it was busy."
    return (
        f"expected a Ray cluster at {address}, got none ({reason}); start one with `ray start --head`, correct the "
        "address, or leave it out for a cluster of this machine. If the cluster asks for a token, set RAY_AUTH_MODE to "
        "token, and RAY_AUTH_TOKEN_PATH."
    )
