"""A BoTorch surrogate of ten inputs, explained against 50 background rows: gplens and shap.KernelExplainer in one run.

    python benchmarks/kernel_explainer.py

The two attribute differently: gplens integrates gradients, KernelExplainer estimates Shapley values. Each is therefore
compared with its own exact values: Gauss-Legendre with 64 nodes a path, and all 1,022 coalitions.
"""

import time
import warnings
from collections.abc import Callable
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
    plain, plain_seconds = timed(lambda: gplens.explain(model, x, baseline=baseline))
    size = float(exact.abs().max())
    print(f"gplens: {plain_seconds / ROWS:.3f} s a row, error {float((plain.values - exact).abs().max()) / size:.1e}")

    def predict(rows: np.ndarray) -> np.ndarray:
        with torch.no_grad(), skip_posterior_variances(True):  # block by block: all rows at once fill the memory
            return torch.cat([model.posterior(x).mean[:, 0] for x in torch.as_tensor(rows).split(1000)]).numpy()

    explainer, found = shap.KernelExplainer(predict, background.numpy()), {}
    for count in COALITIONS:
        np.random.seed(0)  # shap draws coalitions from the global generator
        found[count], seconds = timed(lambda count=count: explainer.shap_values(x.numpy(), nsamples=count, silent=True))
        error = "" if count < COALITIONS[-1] else ", all of them"
        print(
            f"KernelExplainer, {count} coalitions{error}: {seconds / ROWS:.3f} s a row, {seconds / plain_seconds:.0f} x"
        )
    truth = found[COALITIONS[-1]]
    print(f"its error with {COALITIONS[0]}: {np.abs(found[COALITIONS[0]] - truth).max() / np.abs(truth).max():.1e}")


if __name__ == "__main__":
    with warnings.catch_warnings(action="ignore"):
        main()
