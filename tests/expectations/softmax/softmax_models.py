"""Multi-class models for the softmax tests: posteriors made by hand, and GPyTorch models that were trained."""

from functools import cache

import gpytorch
import torch
from sklearn.datasets import load_digits
from torch import Tensor

import gplens
from gplens import kernels


def posteriors(classes: int, features: int, seed: int) -> tuple[gplens.Process, Tensor]:
    """Independent latent functions with kernels and support points of their own, and some inputs."""
    generator = torch.Generator().manual_seed(seed)
    draw = {"generator": generator, "dtype": torch.float64}
    parts = []
    for _ in range(classes):
        Z, y = torch.randn(8, features, **draw), 2 * torch.randn(8, **draw)
        kernel = kernels.Scale(kernels.RBF(0.8 + torch.rand(features, **draw)), torch.tensor(2.0, dtype=torch.float64))
        parts.append(gplens.Posterior.exact(kernel, Z, y, noise=0.1))
    return gplens.Stack(tuple(parts)), torch.randn(5, features, **draw)


class MultiClass(gpytorch.models.ApproximateGP):
    """One latent function per class (or per latent of an LMC), kernel and inducing points shared or not."""

    def __init__(self, Z: Tensor, latents: int, classes: int, *, shared: bool, lmc: bool = False) -> None:
        batch = torch.Size([latents])
        kernel_batch = torch.Size() if shared else batch
        q = gpytorch.variational.CholeskyVariationalDistribution(Z.shape[0], batch_shape=batch)
        Z = Z if shared else Z.repeat(latents, 1, 1)
        base = gpytorch.variational.VariationalStrategy(self, Z, q)
        if lmc:
            strategy = gpytorch.variational.LMCVariationalStrategy(base, num_tasks=classes, num_latents=latents)
        else:
            strategy = gpytorch.variational.IndependentMultitaskVariationalStrategy(base, num_tasks=classes)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ConstantMean(batch_shape=batch)
        rbf = gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[-1], batch_shape=kernel_batch)
        self.covar_module = gpytorch.kernels.ScaleKernel(rbf, batch_shape=kernel_batch)

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def train(model: MultiClass, likelihood: gpytorch.likelihoods.Likelihood, X: Tensor, y: Tensor, steps: int) -> None:
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, len(X))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.05)
    for _ in range(steps):
        optimiser.zero_grad()
        (-elbo(model(X), y)).backward()
        optimiser.step()


@cache
def small(
    *, shared: bool = True, lmc: bool = False, mixing: bool = False
) -> tuple[MultiClass, gpytorch.likelihoods.SoftmaxLikelihood, Tensor]:
    """Three classes, four features, float64; and the training inputs."""
    torch.manual_seed(1)
    X = torch.rand(90, 4, dtype=torch.float64)
    y = (1.5 * X[:, 0] + 1.5 * X[:, 1] ** 2).long().clamp(max=2)
    model = MultiClass(X[:12].clone(), 2 if lmc else 3, 3, shared=shared, lmc=lmc).double()
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_features=3, num_classes=3, mixing_weights=mixing).double()
    train(model, likelihood, X, y, 30)
    return model, likelihood, X


@cache
def digits() -> tuple[MultiClass, gpytorch.likelihoods.SoftmaxLikelihood, Tensor]:
    """Ten classes on the 8 x 8 digits of scikit-learn, float64."""
    torch.manual_seed(2)
    pixels, labels = load_digits(return_X_y=True)
    X, y = torch.tensor(pixels, dtype=torch.float64) / 16, torch.tensor(labels)
    model = MultiClass(X[:40].clone(), 10, 10, shared=True).double()
    model.covar_module.base_kernel.initialize(lengthscale=2.0)
    likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)
    train(model, likelihood, X[:400], y[:400], 40)
    return model, likelihood, X
