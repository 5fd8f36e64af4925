"""An exact GP of 10,000 training points: that it is explained, in which memory, and how well it adds up.

python benchmarks/large.py 10000
"""

import resource
import sys
from time import perf_counter

import gpytorch
import torch

import gplens


class Exact(gpytorch.models.ExactGP):
    def __init__(self, X: torch.Tensor, y: torch.Tensor, likelihood: gpytorch.likelihoods.GaussianLikelihood) -> None:
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(2.5, ard_num_dims=X.shape[1]))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def main(n: int) -> None:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(n, 9, generator=generator, dtype=torch.float64)
    y = X[:, 0].sin() + X[:, 1] * X[:, 2] + 0.1 * torch.randn(n, generator=generator, dtype=torch.float64)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
    likelihood.noise = 0.05
    model = Exact(X, y, likelihood).double().eval()
    model.covar_module.base_kernel.lengthscale = 3.0
    for target in (gplens.targets.Latent(), gplens.targets.EpistemicVariance()):
        start = perf_counter()
        e = gplens.explain(model, X[:100] + 0.1, baseline=gplens.baselines.Mean(X), target=target)
        seconds, gap = perf_counter() - start, float(e.gap.abs().max() / e.values.abs().max())
        print(f"n={n}, 100 inputs, {target}: {seconds:.1f} s, gap {gap:.1e} of the largest attribution", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GB; K alone is {8 * n * n / 2**30:.2f} GB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
