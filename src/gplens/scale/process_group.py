"""The workers of Ray Train as a process group of PyTorch that listens only where the cluster does."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, final

import ray
import torch.distributed as dist
from ray.train import get_context
from ray.train.backend import Backend
from ray.train.collective import broadcast_from_rank_zero
from ray.train.torch import TorchConfig
from torch._C._distributed_c10d import TCPStore  # the class of torch.distributed, under the name that has types

from gplens.scale.ray_cluster import LOOPBACK

PATIENCE = timedelta(minutes=30)
"""The longest time that a worker waits for the others in a step."""
INTERFACE = "GLOO_SOCKET_IFNAME"


@final
class NoGroup(TorchConfig):
    """A TorchConfig for workers that create their process group themselves.

    The store of a group that Ray Train creates would listen on all interfaces of the machine.
    """

    @property
    def backend_cls(self) -> Any:
        return Backend


@contextmanager
def process_group() -> Iterator[None]:
    """Join the gloo group of all workers of this run of Ray Train, and leave it with the block.

    The first worker listens at the address by which the cluster knows its machine: on the loopback interface for a
    cluster of one machine that gplens starts.
    """
    context, address = get_context(), ray.util.get_node_ip_address()
    rank, workers = context.get_world_rank(), context.get_world_size()
    if address == LOOPBACK:
        os.environ.setdefault(INTERFACE, "lo")
    listener = socket.create_server((address, 0)) if rank == 0 else None
    mine: Any = None if listener is None else listener.getsockname()[:2]
    host, port = broadcast_from_rank_zero(mine)
    descriptor = None if listener is None else listener.detach()  # the store closes it
    store = TCPStore(host, port, workers, rank == 0, PATIENCE, False, master_listen_fd=descriptor)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=workers, timeout=PATIENCE)
    try:
        yield
    finally:
        dist.destroy_process_group()
