"""A million elements need less than 100 MB beside what they are: measured as the peak of a fresh process."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, torch
from gplens.links import {name}
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
torch.set_num_threads(1)
link = {call}
m, v = torch.linspace(-5, 5, {count}).double(), torch.linspace(0, 4.5, {count}).double()
link.moments(m[:10], v[:10])
before = peak()
link.moments(m, v)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize(
    ("name", "call", "count"),
    [
        ("Softplus", "Softplus()", 1_000_000),
        ("Quadrature", "Quadrature(torch.sin)", 100_000),
    ],
)
def test_peak(name: str, call: str, count: int) -> None:
    program = PROGRAM.format(name=name, call=call, count=count)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    outputs = 3 * 8 * count / 2**20
    assert float(run.stdout) < 100 + outputs
