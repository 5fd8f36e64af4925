"""Trained models of other libraries, fitted as their users fit them: BoTorch and scikit-learn."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from models import Workload
from recipes import TENSORS, Bikes, Data, Recipe


class Hartmann(Recipe):
    """Hartmann's function of six variables at 200 Sobol points, fitted by `fit_gpytorch_mll`."""

    title = "BoTorch `SingleTaskGP`: 200 points of Hartmann 6"
    packages = ("torch", "gpytorch", "botorch")
    score_name = "R^2 at 1,000 new points"
    points, new, noise = 200, 1000, 0.01

    @property
    def settings(self) -> str:
        return f"Hartmann 6, {self.points} Sobol points, {self.new} new ones, noise {self.noise}, default model and fit"

    def data(self) -> Data:
        from botorch.test_functions import Hartmann

        function: Any = Hartmann(negate=True).double()
        X = torch.quasirandom.SobolEngine(6, scramble=True, seed=0).draw(self.points + self.new, dtype=torch.float64)
        y = function(X)
        noise = torch.randn(self.points, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        train, held = X.split([self.points, self.new])
        return Data(train, y[: self.points] + self.noise * noise, held, y[self.points :])

    def fit(self, data: Data) -> Any:
        from botorch.fit import fit_gpytorch_mll
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = self._model(data)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model.eval().requires_grad_(False)

    def _model(self, data: Data) -> Any:
        from botorch.models import SingleTaskGP

        return SingleTaskGP(data.X, data.y[:, None])

    def score(self, model: Any, data: Data) -> float:
        with torch.no_grad():
            missed = data.held_y - model.posterior(data.held).mean[:, 0]
        return float(1 - missed.square().mean() / data.held_y.var(correction=0))

    def save(self, model: Any, folder: Path) -> None:
        save_file(model.state_dict(), folder / TENSORS)

    def load(self, folder: Path, data: Data) -> Any:
        model = self._model(data)
        model.load_state_dict(load_file(folder / TENSORS))
        return model.eval().requires_grad_(False)

    def workload(self, model: Any, data: Data) -> Workload:
        """Relative to the centre of the cube."""
        return Workload(model, None, data.held, torch.full_like(data.held[:1], 0.5))


class Regressor(Recipe):
    """log(1 + bikes) of 1,000 hours by scikit-learn: a constant times Matern 5/2 ARD, and white noise."""

    title = "scikit-learn `GaussianProcessRegressor`: d=8, 1,000 hours of bikes, Matern 5/2"
    packages = ("scikit-learn",)
    score_name = "R^2 at the held-out hours"
    rows = 1000

    @property
    def settings(self) -> str:
        return f"{Bikes().settings.partition('Adam')[0]} log(1 + count), {self.rows} hours, {self._kernel()!r}"

    def data(self) -> Data:
        bikes = Bikes().data()
        rows = torch.randperm(len(bikes.X), generator=torch.Generator().manual_seed(1))[: self.rows]
        return Data(bikes.X[rows], bikes.y[rows].log1p(), bikes.held, bikes.held_y.log1p())

    def _kernel(self) -> Any:
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        lengthscales = np.ones(8)
        return ConstantKernel(1.0) * Matern(lengthscales, (0.05, 1e3), nu=2.5) + WhiteKernel(0.1)

    def fit(self, data: Data) -> Any:
        return self._regressor(self._kernel(), "fmin_l_bfgs_b").fit(data.X.numpy(), data.y.numpy())

    def _regressor(self, kernel: Any, optimizer: str | None) -> Any:
        from sklearn.gaussian_process import GaussianProcessRegressor

        return GaussianProcessRegressor(kernel, normalize_y=True, optimizer=optimizer)

    def score(self, model: Any, data: Data) -> float:
        return float(model.score(data.held.numpy(), data.held_y.numpy()))

    def save(self, model: Any, folder: Path) -> None:
        save_file({"theta": torch.from_numpy(model.kernel_.theta.copy())}, folder / TENSORS)

    def load(self, folder: Path, data: Data) -> Any:
        """The same table conditioned on with the fitted hyper-parameters."""
        kernel = self._kernel().clone_with_theta(load_file(folder / TENSORS)["theta"].numpy())
        return self._regressor(kernel, None).fit(data.X.numpy(), data.y.numpy())

    def workload(self, model: Any, data: Data) -> Workload:
        """Relative to the average row of the training table."""
        return Workload(model, None, data.held, data.X.mean(0, keepdim=True))
