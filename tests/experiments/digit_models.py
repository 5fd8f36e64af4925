"""Small fitted classifiers of scikit-learn's 8 x 8 digits, like those of the experiments in every other way."""

from functools import cache

import torch

from gplens.datasets import Dataset, digits
from gplens.estimators import GPClassifier, Training


@cache
def small_digits() -> Dataset:
    """Four classes, pixels from 0 to 1."""
    data = digits()
    few = data.y < 4
    return Dataset(data.X[few] / 16, data.y[few], data.feature_names, data.description)


@cache
def fitted(shared: bool) -> GPClassifier:
    data = small_digits()
    options = {"scaling": "table", "inducing_points": 12, "training": Training(steps=15, batch=200, stopping=None)}
    model = GPClassifier("rbf", shared=shared, ard=not shared, random_state=0, progress=False, **options)
    return model.fit(data.X[:400].numpy(), data.y[:400].numpy())


def printed(model: GPClassifier, X: torch.Tensor, draws: int = 20_000) -> torch.Tensor:
    """GPyTorch's marginals, and the softmax averaged over mirrored draws: probabilities to 1e-3."""
    with torch.no_grad():
        f = model.model_(X)
        z = torch.randn(draws, 1, f.mean.shape[1], generator=torch.Generator().manual_seed(0), dtype=X.dtype)
        z = torch.cat([z, -z])
        return torch.softmax(f.mean + f.variance.sqrt() * z, dim=-1).mean(0)
