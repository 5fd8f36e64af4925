"""`import gplens` loads no host library and nothing that draws or reads frames."""

import subprocess
import sys

import pytest

from gplens.adapters.hosts import HOSTS

LIBRARIES = [root for root in HOSTS if root != "gplens"]
FRAMEWORKS = ["baybe", "ax", "bofire", "plotly"]
HEAVY = [*LIBRARIES, *FRAMEWORKS, "captum", "shap", "pandas", "polars", "ray", "matplotlib", "scipy", "numba", "jax"]
CODE = """
import sys, gplens, torch
X = torch.zeros(2, 1, dtype=torch.float64)
kernel = gplens.kernels.RBF(X[0] + 1)
posterior = gplens.Posterior(kernel, X[:1], X[0] + 1, X[:1] + 0.5)
gplens.explain(posterior, X + 1, baseline=0.0, likelihood=gplens.links.Exp())
print(*sys.modules)
"""


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    """The modules of a process that explained something by the core alone."""
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


@pytest.mark.parametrize("module", HEAVY)
def test_explaining_a_posterior_loads_no(module: str, loaded: set[str]) -> None:
    assert "gplens.explain" in loaded
    assert module not in loaded
