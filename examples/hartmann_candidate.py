"""Why was this point suggested? A loop of Bayesian optimisation on Hartmann-6, and its next candidate explained.

    python examples/hartmann_candidate.py candidate.png

needs the extras [botorch,plots].
"""

import sys

import torch
from botorch import fit_gpytorch_mll
from botorch.acquisition import LogExpectedImprovement
from botorch.models import SingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from botorch.test_functions import Hartmann
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import gplens

FUNCTION = Hartmann(dim=6, negate=True)
BOUNDS = torch.as_tensor(FUNCTION.bounds, dtype=torch.float64)
NAMES = [f"x{k}" for k in range(6)]
START, ROUNDS = 12, 6


def suggested(X: Tensor, Y: Tensor) -> tuple[LogExpectedImprovement, Tensor]:
    """The acquisition function of a model that is fitted to what was observed, and its best candidate."""
    model = SingleTaskGP(X, Y, input_transform=Normalize(d=6, bounds=BOUNDS), outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = LogExpectedImprovement(model, best_f=Y.max())
    candidate, _ = optimize_acqf(acquisition, BOUNDS, q=1, num_restarts=4, raw_samples=128)
    return acquisition, candidate


def main(path: str) -> None:
    torch.manual_seed(0)
    X = BOUNDS[0] + torch.rand(START, 6, dtype=torch.float64) * (BOUNDS[1] - BOUNDS[0])
    Y = FUNCTION(X)[:, None]
    for _ in range(ROUNDS):
        _, candidate = suggested(X, Y)
        X, Y = torch.cat([X, candidate]), torch.cat([Y, FUNCTION(candidate)[:, None]])
    acquisition, candidate = suggested(X, Y)

    incumbent = gplens.baselines.Incumbent(X, Y)
    why = gplens.explain(acquisition, candidate, baseline=incumbent, feature_names=NAMES)
    print(why)
    assert why.channels is not None
    for name, part in why.channels.items():
        print(f"through the {name}: {float(part.sum()):+.3f} of log EI")
    figure = why.plot().get_figure(root=True)
    assert figure is not None
    figure.savefig(path, bbox_inches="tight", dpi=150)

    mean = gplens.explain(acquisition.model, candidate, baseline=incumbent, feature_names=NAMES, uncertainty=True)
    print(mean)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "candidate.png")
