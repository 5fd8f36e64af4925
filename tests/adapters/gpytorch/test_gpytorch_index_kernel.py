"""IndexKernel in a plain GPyTorch model: a path to another task is one line in shares of tasks (MATH 10.3)."""

import gpytorch
import numpy as np
import pytest
import torch
from gpytorch.kernels import IndexKernel, RBFKernel, ScaleKernel
from torch import Tensor

import gplens
from category_models import by_definition, scattered

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks


class Tasks(gpytorch.models.ExactGP):
    """A product of a kernel of two numbers and one of three tasks, as in GPyTorch's tutorial on Hadamard multitask."""

    def __init__(self, X: Tensor, y: Tensor) -> None:
        super().__init__(X, y, gpytorch.likelihoods.GaussianLikelihood())
        self.mean_module = gpytorch.means.ConstantMean()
        torch.manual_seed(0)
        numbers, tasks = RBFKernel(active_dims=[0, 1]), IndexKernel(num_tasks=3, rank=1, active_dims=[2])
        self.covar_module = ScaleKernel(numbers * tasks)

    def forward(self, x: Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def test_another_task_at_the_baseline() -> None:
    X = scattered(2, [3], 24, 9)
    model = Tasks(X, torch.sin(4 * X[:, 0]) + X[:, 1] * X[:, 2]).double().eval()
    inputs, x0 = np.array([[0.9, 0.2, 1.0], [0.1, 0.7, 2.0]]), np.array([0.4, 0.5, 0.0])

    def mean(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return model(torch.as_tensor(x)).mean.numpy()

    explanation = gplens.explain(model, inputs, baseline=x0, uncertainty=gplens.Full(), support=False)
    truth = np.stack([by_definition(mean, x0, x, [2]) for x in inputs])
    np.testing.assert_allclose(explanation.values.numpy(), truth, atol=2e-7)
    np.testing.assert_allclose(explanation.values.sum(1).numpy(), mean(inputs) - mean(x0[None]), atol=1e-8)
    assert explanation.spread is not None
    assert explanation.spread.covariance is not None
    for i, x in enumerate(inputs):
        with torch.no_grad():
            C = model(torch.as_tensor(np.stack([x, x0]))).covariance_matrix
        change = float(C[0, 0] + C[1, 1] - 2 * C[0, 1])
        assert abs(float(explanation.spread.covariance[i].sum()) - change) <= 1e-6 * change
