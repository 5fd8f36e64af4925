"""Which ingredient made this formulation good? Bayesian optimisation with categories, from the loop to the waterfall.

    python examples/formulation.py --out formulation.png

The strength of an adhesive depends on three numbers and on two choices, a solvent and a catalyst. BoTorch's
MixedSingleTaskGP is fitted to 20 random formulations, and log expected improvement suggests 8 more, one at a time.
The last section explains the best one relative to the weakest of the random ones: what each number and each
choice contributed to its predicted strength, with error bars. Choices have no values in between, so that the path
switches them (docs/MATH.md, section 10), and the attributions add up to the change of the posterior mean.
"""

import argparse
import warnings
from pathlib import Path

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import MixedSingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf_discrete
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

import gplens

NAMES = ["resin", "temperature", "time", "solvent", "catalyst"]
SOLVENTS, CATALYSTS = ["water", "ethanol", "acetone", "toluene"], ["none", "tin", "zinc"]
BOUNDS = torch.tensor([[0.2, 20.0, 1.0], [0.8, 90.0, 24.0]], dtype=torch.float64)
CHOICES = {"solvent": dict(enumerate(SOLVENTS)), "catalyst": dict(enumerate(CATALYSTS))}
RANDOM, SUGGESTED, POOL = 20, 8, 400


def formulations(count: int, generator: torch.Generator) -> Tensor:
    """Random formulations."""
    unit = torch.rand(count, 3, generator=generator, dtype=torch.float64)
    choices = [torch.randint(len(c), (count, 1), generator=generator) for c in (SOLVENTS, CATALYSTS)]
    return torch.cat([BOUNDS[0] + unit * (BOUNDS[1] - BOUNDS[0]), *choices], dim=1)


def strength(X: Tensor, generator: torch.Generator) -> Tensor:
    """A laboratory that nobody has: MPa, with a noise of 0.3. Catalysts work at temperatures and in solvents."""
    resin, temperature, time, solvent, catalyst = X.unbind(1)
    best = torch.tensor([45.0, 60.0, 70.0], dtype=torch.float64)[catalyst.long()]
    gain = torch.tensor([[2.0, 4.0, 3.0], [3.0, 7.0, 5.0], [3.5, 5.0, 9.0], [1.0, 6.0, 4.0]], dtype=torch.float64)
    cured = 1 - torch.exp(-time / 6)
    peak = torch.exp(-(((temperature - best) / 25) ** 2) - ((resin - 0.55) / 0.2) ** 2)
    noise = 0.3 * torch.randn(len(X), generator=generator, dtype=torch.float64)
    return (4 + gain[solvent.long(), catalyst.long()] * cured * peak + noise)[:, None]


def fit(X: Tensor, Y: Tensor) -> MixedSingleTaskGP:
    """Numbers scaled to the unit cube, categories as they are."""
    scale = Normalize(d=5, indices=[0, 1, 2])
    model = MixedSingleTaskGP(X, Y, cat_dims=[3, 4], input_transform=scale, outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model), optimizer_kwargs={"options": {"maxiter": 50}})
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description="Explain a candidate of Bayesian optimisation with categories.")
    parser.add_argument("--out", type=Path, default=Path("formulation.png"), help="where the picture goes")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", module="(botorch|linear_operator|gpytorch)")
    generator = torch.Generator().manual_seed(2)

    X = formulations(RANDOM, generator)
    Y = strength(X, generator)
    for _ in range(SUGGESTED):
        acquisition = LogExpectedImprovement(fit(X, Y), best_f=Y.max())
        candidate, _ = optimize_acqf_discrete(acquisition, q=1, choices=formulations(POOL, generator))
        X, Y = torch.cat([X, candidate]), torch.cat([Y, strength(candidate, generator)])
    model = fit(X, Y)
    print(f"best of {RANDOM} random formulations {float(Y[:RANDOM].max()):.2f} MPa, of all {float(Y.max()):.2f} MPa")

    explanation = gplens.explain(
        model, X[Y.argmax()][None], baseline=X[Y.argmin()], categories=CHOICES, feature_names=NAMES, uncertainty=True
    )
    print(explanation)
    larger = float(explanation.probability_larger("solvent", "temperature"))
    print(f"the solvent contributed more than the temperature with probability {larger:.2f}")
    gplens.plots.waterfall(explanation, unit="MPa").figure.savefig(arguments.out, dpi=150, bbox_inches="tight")
    print(f"wrote {arguments.out}")


if __name__ == "__main__":
    main()
