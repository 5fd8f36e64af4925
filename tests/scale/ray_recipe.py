"""A program for a Ray cluster, in a process of its own: `ray_recipe.py MODEL DATA OUT`, with RAY_ADDRESS.

It runs the recipe of docs/SCALE.md for Ray Data, writes its rows, and prints the threads of PyTorch and Arrow in a
worker of two CPUs.
"""

import sys

import pyarrow
import ray
from pyarrow import parquet

from gplens.batch import Explainer, Options
from gplens.scale.ray_engine import Worker


class Counted:
    """A worker that tells how many threads it has."""

    def __init__(self, cpus: int) -> None:
        import torch

        Worker(None, cpus)  # type: ignore[arg-type]
        self.threads = torch.get_num_threads(), pyarrow.cpu_count()

    def tell(self) -> tuple[int, int]:
        return self.threads


def main(model: str, data: str, out: str) -> None:
    ray.init(log_to_driver=False)
    results = ray.data.read_parquet(data).map_batches(
        Explainer, fn_constructor_args=(model, Options(keep=("key",))), batch_format="pyarrow", concurrency=1
    )
    parquet.write_table(pyarrow.concat_tables(ray.get(results.to_arrow_refs())), out)
    del results
    actor = ray.remote(num_cpus=2)(Counted).remote(2)
    print("threads:", *ray.get(actor.tell.remote()))


if __name__ == "__main__":
    main(*sys.argv[1:])
