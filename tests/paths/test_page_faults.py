"""Blocks of rows use the same memory again: counted in page faults, in processes of their own."""

import platform
import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys, torch, gplens
from importlib import import_module
from gplens.kernels import RBF

if sys.argv[1] == "handed back":
    import_module("gplens.explain").keep_freed = lambda: None
torch.set_num_threads(1)
g = torch.Generator().manual_seed(0)
Z, X = (torch.randn(n, 9, generator=g, dtype=torch.float64) for n in (500, 600))
kernel = RBF(torch.full((9,), 2.5, dtype=torch.float64))
posterior = gplens.Posterior.exact(kernel, Z, Z[:, 0].sin(), noise=0.1)
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    gplens.explain(posterior, X, baseline=0.0, likelihood=gplens.links.Exp())
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """Of a third explanation, when everything has been used before."""
    run = subprocess.run([sys.executable, "-c", SCRIPT, how], check=True, capture_output=True, text=True)
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators keep memory in ways of their own")
def test_blocks_use_the_same_pages_again() -> None:
    kept, handed_back = faults("kept"), faults("handed back")
    assert handed_back > 5_000
    assert kept < handed_back / 5
