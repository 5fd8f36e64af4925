"""A BoTorch surrogate of ten inputs, explained against 50 background rows: gplens and shap.KernelExplainer in one run.

    python benchmarks/kernel_explainer.py

The two attribute differently: gplens integrates gradients, KernelExplainer estimates Shapley values. Each is therefore
compared with its own exact values: Gauss-Legendre with 64 nodes a path, and all 1,022 coalitions. Times are CPU times,
medians of seven turns that take each in order.
"""

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import shap
import torch
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from gpytorch.settings import skip_posterior_variances

import gplens

D, TRAINING, BACKGROUND, ROWS = 10, 100, 50, 3
COALITIONS = (256, 1022)
TURNS = 7


def fitted() -> tuple[SingleTaskGP, torch.Tensor]:
    """Fixed hyper-parameters: what is timed is the explanation."""
    X = torch.rand(TRAINING, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sin(3 * X[:, :5]).sum(1) + X[:, 5] * X[:, 6] + X[:, 7] ** 2
    model = SingleTaskGP(X, y[:, None], input_transform=Normalize(d=D), outcome_transform=Standardize(m=1))
    model.covar_module.lengthscale = 1.2
    model.likelihood.noise = 1e-3
    return model.eval(), X


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def main() -> None:
    torch.set_num_threads(1)
    model, X = fitted()
    x, background = X[:ROWS] * 0.9, X[-BACKGROUND:]
    baseline = gplens.baselines.Sample(background)
    exact = gplens.explain(model, x, baseline=baseline, rule=gplens.rules.GaussLegendre(64)).values

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad(), skip_posterior_variances(True):  # block by block: all rows at once fill the memory
            return torch.cat([model.posterior(x).mean[:, 0] for x in torch.as_tensor(rows).split(1000)]).numpy()

    explainer = shap.KernelExplainer(predict, background.numpy())

    def sampled(count: int) -> np.ndarray:
        np.random.seed(0)  # shap draws coalitions from the global generator
        return explainer.shap_values(x.numpy(), nsamples=count, silent=True)

    ours, theirs = [], {count: [] for count in COALITIONS}
    for _ in range(TURNS):
        plain, seconds = timed(lambda: gplens.explain(model, x, baseline=baseline))
        ours.append(seconds)
        found = {}
        for count in COALITIONS:
            found[count], seconds = timed(lambda count=count: sampled(count))
            theirs[count].append(seconds)
    print(f"gplens: {median(ours) / ROWS:.4f} s a row, error {relative(plain.values.numpy(), exact.numpy()):.1e}")
    for count in COALITIONS:
        ratios = sorted(seconds / plain for plain, seconds in zip(ours, theirs[count], strict=True))
        seconds, error = median(theirs[count]) / ROWS, relative(found[count], found[COALITIONS[-1]])
        cost = f"{median(ratios):.0f} times as much ({ratios[0]:.0f} to {ratios[-1]:.0f})"
        print(f"KernelExplainer, {count} coalitions: {seconds:.3f} s a row, {cost}, error {error:.1e}")


def relative(values: np.ndarray, exact: np.ndarray) -> float:
    """The largest difference, relative to the largest attribution."""
    return float(np.abs(values - exact).max() / np.abs(exact).max())


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        main()
