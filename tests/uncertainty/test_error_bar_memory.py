"""How much memory error bars and tails need beside their results: the peak of a fresh process, in megabytes."""

import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only"),
]

PEAK = """
import resource, torch, gplens
from gplens import Posterior, Stack, kernels, links
torch.set_num_threads(1)
g = torch.Generator().manual_seed(0)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def normal(*shape):
    return torch.randn(*shape, generator=g, dtype=torch.float64)
def posterior(X, length):
    return Posterior.exact(kernels.RBF(torch.full((X.shape[1],), length).double()), X, normal(len(X)), noise=0.1)
"""

FULL = """
p, x = posterior(normal(50, 2000), 40.0), normal(4, 2000)
before = peak()
gplens.explain(p, x, baseline=0.0, likelihood=links.Exp(), uncertainty=gplens.Full())
print(peak() - before)
"""

CLASSES = """
X = normal(30, 3)
p, x = Stack(tuple(posterior(X, 4.0) for _ in range(100))), normal(1, 3)
before = peak()
gplens.explain(p, x, baseline=0.0, likelihood=links.Softmax(), uncertainty=gplens.Diagonal())
print(peak() - before)
"""

COUNTS = """
from gpytorch.likelihoods import NegativeBinomialLikelihood
p, x = posterior(normal(20, 2), 2.0), normal(3, 2)
before = peak()
likelihood = NegativeBinomialLikelihood().double()
gplens.explain(p, x, baseline=0.0, likelihood=likelihood, target=gplens.targets.Exceeds(3000))
print(peak() - before)
"""


def megabytes(program: str) -> float:
    """What the program prints, run by a Python of its own."""
    return float(
        subprocess.run([sys.executable, "-c", PEAK + program], capture_output=True, text=True, check=True).stdout
    )


@pytest.mark.parametrize(
    ("program", "most"),
    [(FULL, 650.0), (CLASSES, 200.0), (COUNTS, 300.0)],
    ids=["covariances of 2,000 features", "100 classes", "P(y > 3000) of a negative binomial"],
)
def test_error_bars_and_tails_are_computed_in_blocks(program: str, most: float) -> None:
    """The covariances themselves are 128 MB. Without blocks: 1,550 MB, 780 MB, and 15 GB for P(y > 300)."""
    used = megabytes(program)
    assert used < most, f"{used:.0f} MB"
