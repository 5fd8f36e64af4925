"""Why does the model expect so many bikes in this hour? Fit a Gaussian process to counts and explain it."""

import gpytorch
import torch

import gplens

HOUR = 6603
"""Friday, 7 October 2011, 17:00."""


class CountGP(gpytorch.models.ApproximateGP):
    """A sparse variational GP for the logarithm of the rate."""

    def __init__(self, Z: torch.Tensor) -> None:
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        return gpytorch.distributions.MultivariateNormal(torch.as_tensor(self.mean_module(x)), self.covar_module(x))


class LogPoisson(gpytorch.likelihoods.PoissonLikelihood):
    """Counts with the rate exp(f); GPyTorch's own has softplus(f). gplens reads the link from `forward`."""

    def forward(self, function_samples: torch.Tensor, *args: object, **kwargs: object) -> torch.distributions.Poisson:
        return torch.distributions.Poisson(function_samples.exp())


def encode(data: gplens.datasets.Dataset) -> tuple[torch.Tensor, list[str], dict[str, list[str]]]:
    """Hour and month as harmonics, other columns divided by their maximum; with names and groups of columns."""
    columns: dict[str, torch.Tensor] = {}
    groups: dict[str, list[str]] = {}
    for name, period in (("hour", 24), ("month", 12)):
        turns = [(wave, 2 * torch.pi * k * data.column(name) / period) for k in (1, 2) for wave in ("sin", "cos")]
        groups[name] = [f"{name}_{wave}{i // 2 + 1}" for i, (wave, _) in enumerate(turns)]
        values = [getattr(torch, wave)(angle) for wave, angle in turns]
        columns |= dict(zip(groups[name], values, strict=True))
    for name in ("working_day", "holiday", "weather", "temperature", "humidity", "wind_speed"):
        columns[name] = data.column(name) / data.column(name).max()
    return torch.stack(list(columns.values()), dim=1), list(columns), groups


def fit(X: torch.Tensor, y: torch.Tensor) -> tuple[CountGP, LogPoisson]:
    """500 minibatches, about ten seconds on two cores."""
    torch.manual_seed(0)
    model, likelihood = CountGP(X[torch.randperm(len(X))[:80]]).double(), LogPoisson()
    model.mean_module.initialize(constant=y.mean().log())
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, len(X))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.03)
    for _ in range(500):
        batch = torch.randint(len(X), (256,))
        optimiser.zero_grad()
        loss = -torch.as_tensor(elbo(model(X[batch]), y[batch]))
        loss.backward()
        optimiser.step()
    return model.eval(), likelihood


def main() -> None:
    data = gplens.datasets.bike_sharing(kaggle=False)
    X, names, groups = encode(data)
    print(f"Fitting a sparse GP with a Poisson likelihood to {len(X):,} hours of bike rentals in 2011 ...")
    model, likelihood = fit(X, data.y)
    explanation = gplens.explain(
        model,
        X[HOUR : HOUR + 1],
        likelihood=likelihood,
        baseline=gplens.baselines.Sample(X[::100]),  # the mean of hours, half past eleven, would be no neutral hour
        groups=groups,
        feature_names=names,
    )
    show(explanation, data)


def show(explanation: gplens.Explanation, data: gplens.datasets.Dataset) -> None:
    """Print the change from the average over a sample of hours to this one, feature by feature."""
    average, prediction = float(explanation.baseline_prediction[0]), float(explanation.prediction[0])
    values = dict(zip(explanation.feature_names, explanation.values[0].tolist(), strict=True))
    assert explanation.background_std is not None
    deviations = dict(zip(explanation.feature_names, explanation.background_std[0].tolist(), strict=True))
    print(
        f"\nWhy does it expect {prediction:.0f} bikes at {data.column('hour')[HOUR]:.0f}:00 on Friday, 7 October 2011?"
    )
    print(f"({int(data.y[HOUR])} were rented.)\n")
    print(f"  {'feature':<14}{'this hour':>10}{'average':>10}{'bikes':>10}{'+-':>8}")
    print(f"  {f'the average of {len(explanation.baseline)} hours':<34}{average:>10.2f}")
    for name, value in sorted(values.items(), key=lambda item: -abs(item[1])):
        value_here = float(data.column(name)[HOUR])
        usual = "any" if name in ("hour", "month") else f"{float(data.column(name).mean()):.4g}"
        bar = ("+" if value > 0 else "-") * round(30 * abs(value) / max(map(abs, values.values())))
        label = "weather (1-4)" if name == "weather" else name
        print(f"  {label:<14}{value_here:>10.4g}{usual:>10}{value:>+10.2f}{deviations[name]:>8.2f}  {bar}".rstrip())
    print(f"  {'the prediction for this hour':<34}{prediction:>10.2f}\n")
    print("Every bike is accounted for: the contributions add up to the change of the prediction,")
    print(
        f"with a completeness gap of {float(explanation.gap[0]):.1e} bikes from {int(explanation.nodes[0])} points "
        "along the paths."
    )
    print("+- is the standard deviation of each contribution over the hours that this one is compared with.")


if __name__ == "__main__":
    main()
