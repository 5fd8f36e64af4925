"""
A loop of Bayesian optimisation, explained
==========================================

Five steps of BoTorch, and what each suggestion changed.

Each candidate is explained relative to the best point before it: which parameters did the model expect to
pay?
"""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood
from matplotlib.figure import Figure

import gplens

torch.manual_seed(0)
objective = Hartmann(negate=True)
bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.float64)
X = torch.rand(12, 6, dtype=torch.float64)
names = [f"parameter {letter}" for letter in "ABCDEF"]
steps = []
for _ in range(5):
    y = objective(X)[:, None]
    model = SingleTaskGP(X, y, input_transform=Normalize(6, bounds=bounds), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    x, _ = optimize_acqf(LogExpectedImprovement(model, y.max()), bounds, q=1, num_restarts=2, raw_samples=32)
    best = gplens.baselines.Incumbent(X, y)
    steps.append(gplens.explain(model, x, baseline=best, uncertainty=True, feature_names=names, support=False))
    print(f"expected {steps[-1].prediction[0]:.2f}, found {objective(x).item():.2f}, best so far {y.max():.2f}")
    X = torch.cat([X, x])

# %%
# One column for each step. A bar up: this change was expected to raise the outcome. Whiskers are one standard
# deviation.

figure = Figure(figsize=(9, 3.2), layout="constrained")
every_axes = figure.subplots(1, len(steps), sharey=True)
for number, (one, step) in enumerate(zip(every_axes, steps, strict=True), start=1):
    one.bar(range(6), step.values[0], yerr=step.std[0], color="#0072B2", capsize=2)
    one.axhline(0, color="black", linewidth=0.8)
    one.set_xticks(range(6), "ABCDEF")
    one.set_title(f"suggestion {number}", fontsize=9)
every_axes[0].set_ylabel("attribution")
del one, every_axes
