"""How much memory moments need beside their results: the peak of a fresh process, in megabytes."""

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only"),
]

PEAK = """
import resource, torch
from gplens.links import Quadrature, Sigmoid, Softplus
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
torch.set_num_threads(1)
link = {link}
"""

MOMENTS = """
m, v = torch.linspace(-5, 5, {count}).double(), torch.linspace(0, 4.5, {count}).double()
link.moments(m[:10], v[:10])
before = peak()
link.moments(m, v)
print(peak() - before)
"""

PAIR_MOMENTS = """
x = torch.linspace(0, 1, 60).double()
c = {v} * torch.exp(-(x[:, None] - x) ** 2).expand(28, 60, 60).contiguous()
m, v = x.expand(28, 60).contiguous(), torch.full((28, 60), {v}).double()
link.pair_moments(m[:1, :2], v[:1, :2], c[:1, :2, :2])
before = peak()
link.pair_moments(m, v, c)
print(peak() - before)
"""


def megabytes(program: str) -> float:
    """What the program prints, run by a Python of its own."""
    return float(subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout)


@pytest.mark.parametrize(
    ("link", "count"), [("Softplus()", 1_000_000), ("Quadrature(torch.sin)", 100_000)], ids=["Softplus", "Quadrature"]
)
def test_moments_need_less_than_100_mb_beside_their_results(link: str, count: int) -> None:
    results = 3 * 8 * count / 2**20
    assert megabytes((PEAK + MOMENTS).format(link=link, count=count)) < 100 + results


@pytest.mark.parametrize(
    ("link", "v"), [("Sigmoid()", 20.0), ("Quadrature(torch.tanh)", 2.0)], ids=["Sigmoid", "Quadrature"]
)
def test_a_hundred_thousand_pairs_fit_into_200_mb(link: str, v: float) -> None:
    assert megabytes((PEAK + PAIR_MOMENTS).format(link=link, v=v)) < 200
