"""`gplens reproduce table`: the approximations against autograd, the gaps against GPyTorch, the same numbers twice."""

import pandas
import pytest
import torch
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

import gplens
from gplens.estimators import Training
from gplens.experiments import completeness_experiment as table
from gplens.experiments.approximations import SigmoidHermite, SoftmaxExpansion

FEW = Training(steps=5)


def test_the_hermite_sigmoid_has_the_moments_that_scipy_integrates() -> None:
    """s' and s'' under N(m, sd^2), to what 20 nodes give at sd = 1; the value to more."""
    m, sd = 0.7, 1.0

    derivatives = expit, lambda f: expit(f) * expit(-f), lambda f: expit(f) * expit(-f) * (1 - 2 * expit(f))
    wanted = [quad(lambda f, g=g: g(f) * norm.pdf(f, m, sd), -12, 13)[0] for g in derivatives]
    found = SigmoidHermite().moments(*torch.tensor([m, sd**2], dtype=torch.float64))
    assert [float(part) for part in found] == pytest.approx(wanted, abs=1e-6)
    assert float(found.value) == pytest.approx(wanted[0], abs=1e-12)


def test_the_softmax_expansion_is_a_second_order_taylor_polynomial() -> None:
    """S_c + 1/2 sum_j v_j d2S_c/dm_j^2 and its gradients, all by autograd."""
    m, v = (torch.rand(3, 4, generator=torch.Generator().manual_seed(s), dtype=torch.float64) for s in (0, 1))
    m.requires_grad_(), v.requires_grad_()

    def polynomial(m: torch.Tensor, v: torch.Tensor, c: int) -> torch.Tensor:
        def second(j: int) -> torch.Tensor:
            first = torch.autograd.grad(torch.softmax(m, 1)[:, c].sum(), m, create_graph=True)[0]
            return torch.autograd.grad(first[:, j].sum(), m, create_graph=True)[0][:, j]

        return torch.softmax(m, 1)[:, c] + sum(v[:, j] * second(j) for j in range(4)) / 2

    value, by_m, by_v = SoftmaxExpansion().derivatives(m.detach(), v.detach(), (2,))
    wanted = polynomial(m, v, 2)
    torch.testing.assert_close(value[:, 2], wanted.detach(), rtol=0, atol=1e-14)
    for found, of in ((by_m, m), (by_v, v)):
        torch.testing.assert_close(found[:, 0], torch.autograd.grad(wanted.sum(), of, retain_graph=True)[0])


def test_gaps_are_those_of_gpytorchs_own_gradients() -> None:
    """The right Riemann sum of E exp(f) = exp(m + v/2), by autograd through GPyTorch's prediction."""
    row = next(line for line in table.measure("exp", 3, (50,), FEW) if line["rule"] == "50")
    data = gplens.datasets.synthetic("exp", seed=3)
    X = data.X[torch.randperm(500, generator=torch.Generator().manual_seed(3))[:50]]
    options = {"inducing_points": 50, "inducing": "first", "scaling": "none", "random_state": 3, "training": FEW}
    model = table.MODELS["exp"]("rbf", **options).fit(data.X.numpy(), data.y.numpy()).model_

    def response(x: torch.Tensor) -> torch.Tensor:
        f = model(x)
        return torch.exp(f.mean + f.variance / 2)

    total = torch.zeros_like(X)
    for i in range(1, 51):
        x = (X * i / 50).requires_grad_()
        total += torch.autograd.grad(response(x).sum(), x)[0] / 50
    with torch.no_grad():
        gap = ((X * total).sum(1) - (response(X) - response(torch.zeros_like(X)))).abs().mean()
    assert row["gap"] == pytest.approx(float(gap), rel=1e-5)


@pytest.fixture(scope="module")
def twice() -> list[pandas.DataFrame]:
    def numbers() -> pandas.DataFrame:
        found = [line for link in ("probit", "softmax") for line in table.measure(link, 4, (50, 500), FEW)]
        return pandas.DataFrame(found).drop(columns="seconds")

    return [numbers(), numbers()]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_numbers(twice: list[pandas.DataFrame]) -> None:
    pandas.testing.assert_frame_equal(*twice, check_exact=True)


def test_the_default_is_exact_and_the_expansions_are_not(twice: list[pandas.DataFrame]) -> None:
    gaps = twice[0].set_index(["row", "rule"])["gap"]
    assert max(gaps["probit", "default"], gaps["softmax (Taylor)", "default"]) < 1e-8
    assert gaps["probit", "50"] / gaps["probit", "500"] == pytest.approx(10, rel=0.1)  # falls like 1/points
    assert gaps["softmax (Taylor)", "500"] > 1e-6
