"""`gplens.verify`: right models pass with small differences, wrong ones fail in the check that tells."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import gpytorch
import numpy as np
import pandas
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import gplens
from gplens.columns import Cyclic
from gplens.estimators import GPRegressor, load
from gplens.estimators.gp_models import Sparse, kernel_of
from gplens.verification import Check, Verification, comparisons, paths

R = np.random.default_rng(0)
X = R.normal(size=(30, 3))
Y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
NAMES = ("predictions", "completeness", "antisymmetry", "gradients", "second completeness", "deviations", "coverage")


def posterior() -> gplens.Posterior:
    x = torch.tensor(X)
    return gplens.Posterior.exact(gplens.kernels.RBF(torch.full((3,), 1.5).double()), x, torch.tensor(Y), noise=0.1)


def sparse(latents: int | None) -> Any:
    torch.manual_seed(0)
    Z, kernel = torch.randn(6, 3).double(), kernel_of("rbf", 3, None)
    model = Sparse(Z, kernel, gpytorch.means.ZeroMean(), latents=latents, jitter=1e-6).double().eval()
    model.q.variational_mean.data.copy_(torch.randn(*model.q.variational_mean.shape))
    return model


def botorch_model() -> Any:
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize

    x, y = torch.tensor(X), torch.tensor(Y)[:, None]
    return SingleTaskGP(x, y, input_transform=Normalize(3), outcome_transform=Standardize(1))


CASES: dict[str, Any] = {
    "posterior": lambda: (posterior(), gplens.links.Exp(), 7),
    "gpytorch": lambda: (sparse(None), gpytorch.likelihoods.BernoulliLikelihood(), 7),
    "softmax": lambda: (sparse(3), gpytorch.likelihoods.SoftmaxLikelihood(num_classes=3, mixing_weights=False), 7),
    "botorch": lambda: (botorch_model(), None, 7),
    "scikit-learn": lambda: (GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, Y), None, 7),
    "classifier": lambda: (GaussianProcessClassifier(RBF(), optimizer=None).fit(X, Y > 0), None, 4),
    "functions": lambda: (
        gplens.Functions(lambda x: x.sin().sum(1), lambda x: 0.1 + 0 * x[:, 0], features=3),
        gplens.links.Exp(),
        4,
    ),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "softmax" else ()) for n in CASES])
def test_a_right_model_passes(name: str) -> None:
    """With all checks that its library allows, and identities that hold far below their limits."""
    model, likelihood, made = CASES[name]()
    found = gplens.verify(model, X[:6], baseline=np.full(3, 0.1), likelihood=likelihood, rows=2, features=2, draws=2000)
    assert found, str(found)
    assert [check.name for check in found.checks] == list(NAMES)
    assert sum(check.passed is True for check in found.checks) == made, str(found)
    assert all(check.reason for check in found.checks if check.passed is None)
    values = {check.name: check.value for check in found.checks}
    assert values["antisymmetry"] < 1e-6
    if name != "softmax":
        assert values["predictions"] < 1e-8
        assert values["gradients"] < 1e-5


def test_an_estimator_with_texts_passes(small_model: Path) -> None:
    model, frame = load(small_model / "model"), pandas.read_csv(small_model / "data.csv")[["a", "b", "c"]]
    found = gplens.verify(model, frame, baseline=gplens.baselines.Sample(frame[:5]), rows=2, features=2, draws=1000)
    assert found, str(found)
    assert "7 of 7" in str(found)


def clock_model() -> tuple[Any, pandas.DataFrame]:
    r = np.random.default_rng(1)
    frame = pandas.DataFrame({"hour": r.integers(0, 24, 60), "x": r.normal(size=60)})
    y = 2 * np.cos((frame["hour"] - 8) * np.pi / 6) + frame["x"] ** 2
    return GPRegressor("rbf", columns={"hour": Cyclic(24)}).fit(frame, y), frame


def test_paths_round_the_clock_are_checked_as_explain_takes_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 22 h to 3 h through midnight: the sums are those of `explain`, and a chord fails in the gradients."""
    model, _ = clock_model()
    late = pandas.DataFrame({"hour": [3, 4], "x": [0.5, -1.0]})
    base = pandas.DataFrame({"hour": [22], "x": [1.0]})
    of = paths.Paths.of(model, late, base, None, 2)
    inputs = of.explain().values
    columns = model.explain(late, baseline=base).values
    torch.testing.assert_close(torch.stack([inputs[:, :2].sum(1), inputs[:, 2]], 1), columns, rtol=0, atol=1e-7)
    found = gplens.verify(model, late, baseline=base, rows=2, features=3, draws=1000)
    assert found, str(found)
    assert "7 of 7" in str(found)

    def chords(self: paths.Paths, **options: Any) -> gplens.Explanation:
        x, x0 = (of.polar.inputs(part) for part in (self.x, self.x0))  # type: ignore[union-attr]
        return real(replace(straight, x=x, x0=x0), **options)

    real, straight = paths.Paths.explain, replace(of, reading=replace(gplens.read(model), encoder=None, columns=None))
    monkeypatch.setattr(paths.Paths, "explain", chords)
    result = verdicts(gplens.verify(model, late, baseline=base, rows=2, features=3, draws=500))
    assert result["completeness"] is True
    assert result["gradients"] is False


def verdicts(found: Verification) -> dict[str, bool | None]:
    return {check.name: check.passed for check in found.checks}


def test_an_adapter_that_reads_another_model_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its coefficients are off by a thousandth, and it does not compare itself with the host."""
    model, real = GaussianProcessRegressor(RBF(), alpha=0.1, optimizer=None).fit(X, Y), paths.read

    def misread(model: Any, likelihood: Any, points: Any = None) -> Any:
        reading = real(model, likelihood)
        p = reading.process
        wrong = gplens.Posterior(p.kernel, p.Z, 1.001 * p.beta, p.A, p.means)
        return replace(reading, process=wrong, compare=lambda points, at: ())

    monkeypatch.setattr(paths, "read", misread)
    found = gplens.verify(model, X[:6], baseline=0.1, rows=2, features=2, draws=500)
    assert not found
    result = verdicts(found)
    assert result["antisymmetry"] is True  # of the model that was misread
    assert not any(result[name] for name in ("predictions", "completeness", "gradients"))
    assert "FAIL" in str(found)
    assert "predictions, completeness, gradients failed" in str(found)


@pytest.mark.parametrize("case", ["flipped", "shifted", "narrow"])
def test_tampered_attributions_fail_in_the_check_that_tells(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = paths.explain

    def tampered(*args: Any, **options: Any) -> gplens.Explanation:
        e = real(*args, **options)
        if case == "flipped":
            return replace(e, values=e.values.flip(-1))
        if case == "shifted":
            return replace(e, values=e.values + 0.01)
        if e.spread is None:
            return e
        narrow: dict[str, Any] = {"std": 0.8 * e.spread.std}
        narrow |= {} if e.spread.covariance is None else {"covariance": 0.64 * e.spread.covariance}
        return replace(e, spread=replace(e.spread, **narrow))

    monkeypatch.setattr(paths, "explain", tampered)
    found = gplens.verify(
        posterior(), X[:6], baseline=0.1, likelihood=gplens.links.Exp(), rows=2, features=2, draws=2000
    )
    result = verdicts(found)
    failed = {"flipped": ["gradients"], "shifted": ["completeness", "antisymmetry", "gradients"]}
    passed = {"flipped": ["completeness"], "shifted": ["second completeness"], "narrow": ["completeness", "gradients"]}
    assert not any(result[name] for name in failed.get(case, ["second completeness", "deviations"])), str(found)
    assert all(result[name] for name in passed[case]), str(found)


def test_differences_that_are_not_a_number_fail() -> None:
    assert Check("x", "", float("nan"), 1.0).passed is False
    assert not Verification("model", 1, (Check("x", "", None, None, "no way"),))  # nothing was checked


def test_a_path_of_no_length_is_refused() -> None:
    with pytest.raises(ValueError, match="no length"):
        gplens.verify(posterior(), X[:1], baseline=X[0], likelihood=gplens.links.Exp())


def test_the_largest_ratio_is_reported() -> None:
    """Not the largest difference: rows have units of their own."""
    e = gplens.explain(posterior(), torch.tensor(X[:2]), baseline=0.1, likelihood=gplens.links.Exp())
    unit = comparisons.sizes(e)
    check = comparisons._ratio("x", "", torch.tensor([[1.0], [0.5]]), torch.tensor([[2.0], [0.25]]), e)
    assert check.passed is False
    assert check.value == pytest.approx(0.5 / float(unit[1]))
