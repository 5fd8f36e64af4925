"""A program for a Ray cluster, in a process of its own: `ray_failures.py MODEL DATA OUT ADDRESS`.

It asks for what workers cannot do, and prints the error of each: a model that is not the driver's, and more CPUs than
the cluster has.
"""

import sys

from gplens.batch import Options
from gplens.scale import Ray, read_work_list
from gplens.scale.places import Place
from gplens.scale.unit_task import UnitTask


def main(model: str, data: str, out: str, address: str) -> None:
    units = read_work_list(data).units
    stale = UnitTask(Place.of(model), "0" * 64, Options(), Place.of(out))
    for engine in (Ray(address, workers=1), Ray(address, workers=1, cpus=1000, patience=2.0)):
        try:
            list(engine.run(stale, units))
        except (ValueError, TimeoutError) as error:
            print(f"{type(error).__name__}: {error}".replace("\n", " "))


if __name__ == "__main__":
    main(*sys.argv[1:])
