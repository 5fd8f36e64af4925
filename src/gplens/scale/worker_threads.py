"""The threads of a worker, a process of Ray that runs only gplens, so that its global settings may be changed."""

import pyarrow
import torch


def use_threads(cpus: int) -> None:
    """Let PyTorch and Arrow of this process use as many threads as the worker has CPUs."""
    torch.set_num_threads(cpus)
    pyarrow.set_cpu_count(cpus)
