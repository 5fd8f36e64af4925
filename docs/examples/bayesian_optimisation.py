"""
Bayesian optimisation: why this candidate?
==========================================

Six steps of BoTorch, and why the last point was suggested.

Each step fits a model to the points so far and suggests the one with the largest acquisition value. The last
suggestion is compared with the best point before it.
"""

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood

import gplens

torch.manual_seed(0)
objective = Hartmann(negate=True)
bounds = torch.tensor([[0.0] * 6, [1.0] * 6], dtype=torch.float64)
X = torch.rand(12, 6, dtype=torch.float64)
for _ in range(6):
    tried, y = X, objective(X)[:, None]
    model = SingleTaskGP(X, y, input_transform=Normalize(6, bounds=bounds), outcome_transform=Standardize(1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = LogExpectedImprovement(model, y.max())
    candidate, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=64)
    print(f"best so far {y.max():.2f}, the candidate has {objective(candidate).item():.2f}")
    X = torch.cat([X, candidate])

# %%
# Each bar is a parameter, stacked of two parts: "mean" is exploitation, what the model expects, and "variance" is
# exploration, what it does not know.

names = [f"parameter {letter}" for letter in "ABCDEF"]
best = gplens.baselines.Incumbent(tried, y)
why = gplens.explain(acquisition, candidate, baseline=best, feature_names=names)
print(why)

# %%
# The bars lead from the acquisition value of the best point so far to that of the candidate.

ax = gplens.plots.waterfall(why, unit="log expected improvement")
