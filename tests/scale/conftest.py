"""The Ray cluster that the tests of this folder share."""

from collections.abc import Iterator

import pytest
from ray_processes import Cluster, ray_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Two CPUs for workers and one for Ray Train's controller; ended after the tests."""
    pytest.importorskip("ray", reason="Ray is not installed")
    with ray_cluster(cpus=3) as running:
        yield running
