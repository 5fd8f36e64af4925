"""The fixed costs of one row: function calls, Python's and C's as cProfile counts them, which do not vary as times do.

They are counted in a process of their own, without the run-time check of axes that all other tests have.
"""

import json
import subprocess
import sys

import pytest

CODE = """
import cProfile, json, pstats, sys
import gpytorch, torch
import gplens
from gplens.estimators.own_likelihoods import LogPoisson


class Counts(gpytorch.models.ApproximateGP):
    def __init__(self, Z):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=Z.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def without(profile, function):
    def call(*args):
        profile.disable()
        try:
            return function(*args)
        finally:
            profile.enable()

    return call


def count(inducing, paths=True):
    draw = torch.Generator().manual_seed(0)
    Z, X = (torch.randn(n, 8, generator=draw, dtype=torch.float64) for n in (inducing, 4))
    model = Counts(Z).double().eval()
    q = model.variational_strategy._variational_distribution
    q.variational_mean.data = torch.randn(inducing, generator=draw, dtype=torch.float64) / 2
    q.chol_variational_covar.data *= 0.5
    model.variational_strategy.variational_params_initialized.fill_(1)
    model.covar_module.base_kernel.lengthscale = 3.0
    reading = gplens.read(model, LogPoisson())
    for row in X:  # after three rows all that is done once is done
        profile = cProfile.Profile()
        entry.attribute = attribute if paths else without(profile, attribute)
        explanation = profile.runcall(gplens.explain, reading, row[None], baseline=0.0)
    assert bool(explanation.converged.all())
    return pstats.Stats(profile).total_calls


entry = sys.modules["gplens.calls.outcome"]
attribute = entry.attribute
print(json.dumps({"all": count(128), "no paths": count(128, paths=False), "large": count(300)}))
"""


@pytest.fixture(scope="module")
def calls() -> dict[str, int]:
    run = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_one_row_of_a_reading(calls: dict[str, int]) -> None:
    """As many inducing points as in the bike experiment; 4,000 is what one row may take."""
    assert calls["all"] < 3300


def test_all_but_the_path(calls: dict[str, int]) -> None:
    """Reading the table, the prior of the live model at three points, comparing, naming."""
    assert calls["no paths"] < 1800


def test_one_row_of_a_larger_model(calls: dict[str, int]) -> None:
    """The prior at the points of a call does not depend on the number of inducing points."""
    assert calls["large"] < 3300
