"""How the trained models are fitted: data, training and score of each, by plain GPyTorch or the host's own fit."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gpytorch
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import gplens
from gplens.estimators import GPClassifier
from gplens.experiments.image_models import as_in_the_paper, at_real_quality
from models import LogPoisson, Sparse, Workload

BIKES = ("month", "hour", "weekday", "working_day", "weather", "temperature", "humidity", "wind_speed")
TENSORS = "model.safetensors"


@dataclass(frozen=True)
class Data:
    """Rows to fit, and rows that are held out, which are scored and explained."""

    X: Tensor
    y: Tensor
    held: Tensor
    held_y: Tensor


class Recipe(ABC):
    """One trained model: its data, fit and score, and how it is written to a folder and read from it."""

    title: str
    packages: tuple[str, ...] = ("torch", "gpytorch")
    score_name: str

    @property
    @abstractmethod
    def settings(self) -> str:
        """Everything beside the data and the versions of packages that the fitted model depends on."""

    @abstractmethod
    def data(self) -> Data: ...

    @abstractmethod
    def fit(self, data: Data) -> Any: ...

    @abstractmethod
    def score(self, model: Any, data: Data) -> float: ...

    @abstractmethod
    def save(self, model: Any, folder: Path) -> None: ...

    @abstractmethod
    def load(self, folder: Path, data: Data) -> Any: ...

    @abstractmethod
    def workload(self, model: Any, data: Data) -> Workload: ...

    def versions(self) -> str:
        return ", ".join(f"{package} {version(package)}" for package in self.packages)


class Bikes(Recipe):
    """Counts of bikes by eight standardised columns: 128 inducing points, Matern 5/2, Poisson with an exp link."""

    title = "bikes: d=8, n=128, Matern 5/2, Poisson with exp link"
    score_name = "held-out D^2 of Poisson counts"
    inducing, steps, batch, rate = 128, 3000, 500, 0.02

    @property
    def settings(self) -> str:
        return f"{BIKES}, Adam {self.rate} with cosine, {self.steps} steps of {self.batch}, {self.inducing} points"

    def data(self) -> Data:
        table = gplens.datasets.bike_sharing(kaggle=False)
        X = torch.stack([table.column(name) for name in BIKES], dim=1)
        held = torch.arange(len(X)) % 4 == 0
        X = (X - X[~held].mean(0)) / X[~held].std(0)
        order = torch.randperm(int(held.sum()), generator=torch.Generator().manual_seed(0))
        return Data(X[~held], table.y[~held], X[held][order], table.y[held][order])

    def fit(self, data: Data) -> Sparse:
        """The loop of GPyTorch's tutorials: Adam for everything, minibatches, the inducing points at random rows."""
        generator = torch.Generator().manual_seed(0)
        model, likelihood = self._model(data.X[torch.randperm(len(data.X), generator=generator)[: self.inducing]])
        model.mean_module.initialize(constant=float(data.y.mean().log()))
        elbo = gpytorch.mlls.VariationalELBO(likelihood, model, len(data.X))
        optimizer = torch.optim.Adam(model.train().parameters(), lr=self.rate)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, self.steps)
        for _ in range(self.steps):
            rows = torch.randint(len(data.X), (self.batch,), generator=generator)
            optimizer.zero_grad()
            (-elbo(model(data.X[rows]), data.y[rows])).backward()
            optimizer.step()
            schedule.step()
        return model.eval().requires_grad_(False)

    def _model(self, Z: Tensor) -> tuple[Sparse, LogPoisson]:
        matern = partial(gpytorch.kernels.MaternKernel, 2.5)
        return Sparse(Z.clone(), kernel=matern).double(), LogPoisson()

    def score(self, model: Sparse, data: Data) -> float:
        from sklearn.metrics import d2_tweedie_score

        with torch.no_grad():
            f = model(data.held)
            rate = torch.exp(f.mean + f.variance / 2)
        return float(d2_tweedie_score(data.held_y.numpy(), rate.numpy(), power=1))

    def save(self, model: Sparse, folder: Path) -> None:
        save_file(model.state_dict(), folder / TENSORS)

    def load(self, folder: Path, data: Data) -> Sparse:
        model, _ = self._model(data.X[: self.inducing])
        model.load_state_dict(load_file(folder / TENSORS))
        return model.eval().requires_grad_(False)

    def workload(self, model: Sparse, data: Data) -> Workload:
        """Relative to the average row of the training table."""
        return Workload(model, LogPoisson(), data.held, data.X.mean(0, keepdim=True))


class Images(Recipe):
    """The classifiers of the paper's experiments; a GPyTorch model is what is fitted and explained."""

    packages = ("torch", "gpytorch", "scikit-learn")
    score_name = "accuracy on 10,000 test images"

    def __init__(self, dataset: str, shared: bool) -> None:
        self.dataset, self.make = dataset, at_real_quality if shared else as_in_the_paper
        points = "1,200 shared inducing points" if shared else "100 inducing points a class"
        name = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}[dataset]
        self.title = f"{name}: d=784, C=10, {points}, RBF, softmax"

    @property
    def settings(self) -> str:
        return f"{self.dataset} {self.make(0, False)!r}"

    def data(self) -> Data:
        split = getattr(gplens.datasets, self.dataset)()
        return Data(split.train.X, split.train.y, split.test.X.double(), split.test.y)

    def fit(self, data: Data) -> Any:
        return self.make(0, False).fit(data.X.numpy(), data.y.numpy())

    def score(self, model: Any, data: Data) -> float:
        return float(model.score(data.held.numpy(), data.held_y.numpy()))

    def save(self, model: Any, folder: Path) -> None:
        model.save(folder)

    def load(self, folder: Path, data: Data) -> Any:
        return GPClassifier.load(folder)

    def workload(self, model: Any, data: Data) -> Workload:
        """The fitted GPyTorch model, relative to the black image."""
        return Workload(model.model_, model.likelihood_, data.held, torch.zeros_like(data.held[:1]))
