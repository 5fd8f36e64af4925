"""Print the modules of gplens that one explanation passes through, in the order in which they are first entered.

    python scripts/walk.py [--most 30]

The model is a Poisson GP of GPyTorch with a Matern 5/2 kernel. A copy of it is explained beforehand, so that imports
are not counted, and reading the model is: what is printed are the modules whose functions run in a warm call of
`gplens.explain` with a model that it has not met before.
"""

import argparse
import sys
import threading
from copy import deepcopy
from types import FrameType
from typing import Any

import gpytorch
import torch

import gplens


class CountGP(gpytorch.models.ApproximateGP):
    def __init__(self, Z: torch.Tensor) -> None:
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class LogPoisson(gpytorch.likelihoods.PoissonLikelihood):
    """Counts with the rate exp(f), as in the paper."""

    def forward(self, function_samples: torch.Tensor, *args: Any, **kwargs: Any) -> torch.distributions.Poisson:
        return torch.distributions.Poisson(function_samples.exp())


def fit() -> tuple[CountGP, LogPoisson, torch.Tensor]:
    torch.manual_seed(0)
    X = torch.rand(60, 2, dtype=torch.float64)
    y = torch.poisson(1 + 4 * X[:, 0] ** 2)
    model, likelihood = CountGP(X[:15].clone()).double(), LogPoisson()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, len(X))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(40):
        optimiser.zero_grad()
        (-elbo(model(X), y)).backward()
        optimiser.step()
    return model.eval(), likelihood.eval(), X


class Walk:
    """A profile function that notes the modules of a package whose functions are called."""

    def __init__(self, package: str) -> None:
        self.package = package
        self.modules: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        if event != "call" or code.co_name == "<module>":
            return
        if code.co_filename.startswith("<"):  # generated: the methods of dataclasses
            return
        if module == self.package or module.startswith(f"{self.package}."):
            self.modules.setdefault(module)

    def __enter__(self) -> "Walk":
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *failure: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the modules that one explanation passes through.")
    parser.add_argument("--most", type=int, help="fail if there are more modules than this")
    most = parser.parse_args().most
    model, likelihood, X = fit()
    explain = gplens.explain
    explain(deepcopy(model), X[:3], likelihood=deepcopy(likelihood), baseline=X.mean(0))
    with Walk("gplens") as walk:
        explain(model, X[:3], likelihood=likelihood, baseline=X.mean(0))
    print(*walk.modules, f"{len(walk.modules)} modules", sep="\n")
    if most is not None and len(walk.modules) > most:
        sys.exit(f"expected at most {most} modules, got {len(walk.modules)}")


if __name__ == "__main__":
    main()
