"""Baselines in all their shapes, and the messages for those that do not fit."""

import numpy as np
import pandas
import pytest
import torch

import gplens
from conformance.zoo import FEATURES, KERNELS, fitted, generator, normal, rows
from gplens import Posterior
from gplens.baselines import Baseline, Fixed, Incumbent, Mean, Medoid, Nearest, Rows, Sample, Zeros
from gplens.kernels import Matern32
from gplens.links import Exp
from gplens.targets import Latent
from messages import naming

POSTERIOR, _ = fitted(KERNELS["rbf"], 41)
X, X0 = rows(41, 3)
VECTOR = normal(generator(0), FEATURES)


def explain(baseline: object, X: object = X, **options: object) -> gplens.Explanation:
    return gplens.explain(POSTERIOR, X, baseline=baseline, likelihood=Exp(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("baseline", "row"),
    [
        (Zeros(), torch.zeros(FEATURES).double()),
        (0, torch.zeros(FEATURES).double()),
        (-0.5, torch.full((FEATURES,), -0.5).double()),
        (np.float32(0.25), torch.full((FEATURES,), 0.25).double()),
        (np.int64(1), torch.ones(FEATURES).double()),
        (torch.tensor(0.25), torch.full((FEATURES,), 0.25).double()),
        (np.array(0.25), torch.full((FEATURES,), 0.25).double()),
        (VECTOR, VECTOR),
        (VECTOR.tolist(), VECTOR),
        (VECTOR.numpy(), VECTOR),
        (pandas.Series(VECTOR.numpy()), VECTOR),
        (Mean(X0), X0.mean(0)),
        (Sample(X0[:1]), X0[0]),
    ],
    ids=lambda argument: type(argument).__name__,
)
def test_a_shared_baseline_is_a_row_for_every_input(baseline: object, row: torch.Tensor) -> None:
    expected = explain(Rows(row.expand(3, -1)))
    found = explain(baseline)
    torch.testing.assert_close(found.values, expected.values, rtol=1e-12, atol=1e-13)
    torch.testing.assert_close(found.baseline_prediction, expected.baseline_prediction, rtol=1e-13, atol=0)
    torch.testing.assert_close(found.baseline.expand(3, -1), row.expand(3, -1))


def test_a_row_for_each_input_is_used_row_by_row() -> None:
    together = explain(Rows(X0))
    for i in range(3):
        alone = explain(X0[i], X[i : i + 1])
        torch.testing.assert_close(together.values[i], alone.values[0], rtol=1e-12, atol=1e-13)
    assert torch.equal(together.baseline, X0)


def test_a_background_is_the_average_of_single_explanations() -> None:
    background = normal(generator(1), 5, FEATURES)
    found = explain(Sample(background), tolerance=1e-10)
    singles = [explain(row, tolerance=1e-10) for row in background]
    for name in ("values", "baseline_prediction"):
        mean = torch.stack([getattr(single, name) for single in singles]).mean(0)
        torch.testing.assert_close(getattr(found, name), mean, rtol=1e-9, atol=1e-10)
    assert torch.equal(found.nodes, torch.stack([single.nodes for single in singles]).sum(0))
    assert found.converged is not None
    assert found.converged.all()
    assert found.background
    assert torch.equal(found.baseline, background)


def test_a_background_with_a_fixed_rule_is_the_average_to_rounding() -> None:
    background, rule = normal(generator(1), 4, FEATURES), gplens.rules.GaussLegendre(12)
    singles = torch.stack([explain(row, rule=rule).values for row in background])
    torch.testing.assert_close(explain(Sample(background), rule=rule).values, singles.mean(0), rtol=1e-13, atol=1e-14)


def test_a_background_whose_average_is_small_is_integrated_more_finely() -> None:
    """An odd function, baselines on either side of zero, nearly: what is left of their sum has the tolerance too."""
    half = torch.stack([0.5 * VECTOR, X[0]])  # the paths go through a support point, where Matern32 has a kink
    Z, beta = torch.cat([half, -half]), torch.tensor([1.0, 0.5, -1.0, -0.5], dtype=torch.float64)
    odd = Posterior(Matern32(torch.ones(1, dtype=torch.float64)), Z, beta, 0 * torch.eye(4, dtype=torch.float64))
    both, zero = torch.stack([VECTOR, -0.9999 * VECTOR]), torch.zeros(1, FEATURES, dtype=torch.float64)
    options = {"target": Latent(), "tolerance": 1e-6}
    found = gplens.explain(odd, zero, baseline=Sample(both), **options)
    singles = torch.stack(
        [gplens.explain(odd, zero, baseline=row, **options | {"tolerance": 1e-12}).values for row in both]
    )
    average = singles.mean(0)
    assert average.abs().max() < 1e-3 * singles.abs().max()
    assert found.converged is not None
    assert found.converged.all()
    assert (found.values - average).abs().max() <= 1e-6 * average.abs().max()


def test_a_missing_baseline_is_asked_for() -> None:
    with pytest.raises(ValueError, match=naming("baseline", "None", "gplens.baselines.Mean(X_train)")):
        gplens.explain(POSTERIOR, X, likelihood=Exp())


@pytest.mark.parametrize(
    ("baseline", "message"),
    [
        (torch.zeros(3), naming("baseline", "(3,)", "(4,)", "4 columns")),
        (torch.zeros(2, 4), naming("baseline", "2 rows", "gplens.baselines.Sample(X0)", "gplens.baselines.Rows(X0)")),
        (X, naming("baseline", "3 rows", "gplens.baselines.Sample(X0)", "gplens.baselines.Rows(X0)")),
        (Rows(torch.zeros(2, 4)), naming("baseline", "3 rows", 2, "gplens.baselines.Sample(X0)")),
        (torch.zeros(3, 1, 4), naming("baseline", "(3, 1, 4)")),
        (float("nan"), naming("finite", "baseline", "nan")),
        (torch.tensor(torch.inf), naming("finite", "baseline", "inf")),
        ([0.0, 1.0, float("nan"), 2.0], naming("finite", "baseline", 1, "nan", "row 0", "column 2")),
        ("mean", naming("'mean'", "baseline=gplens.baselines.Mean(X_train)")),
        ("background", naming("'background'", "baseline=gplens.baselines.Sample(X_train)")),
        ("middle", naming("'middle'", "gplens.baselines.Mean(X_train)", "gplens.baselines.Zeros()")),
        (Zeros, naming("'Zeros'", "baseline=gplens.baselines.Zeros()")),
        (Sample, naming("'Sample'", "baseline=gplens.baselines.Sample(X_train)")),
        (Mean(torch.zeros(5, 3)), naming("baseline", "columns", "X", 3, 4)),
        (Sample(torch.zeros(5, 5)), naming("baseline", "columns", "X", 5, 4)),
    ],
    ids=lambda argument: None if isinstance(argument, str) else type(argument).__name__,
)
def test_a_baseline_that_does_not_fit_is_refused(baseline: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        explain(baseline)


def test_a_background_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("finite", "baseline's X", 1, "inf", "row 0", "column 1")):
        Sample([[0.0, float("inf")]])


NAMES = ["a", "b", "c", "d"]
FRAME = pandas.DataFrame(X.numpy(), columns=NAMES)
OTHER = pandas.DataFrame(X0.numpy(), columns=NAMES[::-1])


@pytest.mark.parametrize(
    "baseline", [Mean(OTHER), Sample(OTHER), Rows(OTHER), OTHER[:1]], ids=["mean", "sample", "rows", "row"]
)
def test_a_baseline_with_other_columns_is_refused(baseline: Baseline | pandas.DataFrame) -> None:
    with pytest.raises(ValueError, match=naming("baseline", "columns", NAMES, NAMES[::-1])):
        explain(baseline, FRAME)


def test_a_baseline_without_names_fits_any_frame() -> None:
    assert explain(Mean(X0), FRAME).feature_names == tuple(NAMES)


def test_a_series_in_another_order_is_refused_and_one_in_the_same_order_taken() -> None:
    frame = pandas.DataFrame(X.numpy(), columns=list("abcd"))
    mean = frame.mean()
    assert torch.equal(explain(mean, frame).baseline[0], torch.tensor(mean.to_numpy()))
    with pytest.raises(ValueError, match=naming("baseline", "columns", list("abcd"), list("bacd"))):
        explain(mean[["b", "a", "c", "d"]], frame)


def test_a_positional_baseline_is_refused_with_the_line_to_type() -> None:
    with pytest.raises(TypeError, match=naming("explain(..., X, baseline=Zeros())", 1)):
        gplens.explain(POSTERIOR, X, Zeros(), likelihood=Exp())
    with pytest.raises(TypeError, match=naming("baseline=...", "gplens.baselines.Sample(X0)", 2)):
        gplens.explain(POSTERIOR, X, X0, Exp())


def test_every_baseline_has_an_example_to_type() -> None:
    """Of those that are classes to call: the messages for a class without brackets name each."""
    for kind in (Fixed, Mean, Rows, Sample, Zeros, Medoid, Nearest, Incumbent):
        with pytest.raises(ValueError, match=rf"baseline=gplens\.baselines\.{kind.__name__}\("):
            explain(kind)


def test_shares_of_a_background_are_how_often_its_rows_count() -> None:
    background = normal(generator(1), 3, FEATURES)
    weighted = explain(Sample(background, weights=[2, 1, 1]), tolerance=1e-10)
    repeated = explain(Sample(background[[0, 0, 1, 2]]), tolerance=1e-10)
    for name in ("values", "baseline_prediction", "prediction", "background_std"):
        torch.testing.assert_close(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, atol=1e-10)
    assert weighted.baseline_weights is not None
    assert weighted.baseline_weights.tolist() == [0.5, 0.25, 0.25]
    assert repeated.baseline_weights is None


def test_the_deviation_over_a_background_is_that_of_single_explanations() -> None:
    background, shares = normal(generator(1), 4, FEATURES), np.array([0.1, 0.2, 0.3, 0.4])
    found = explain(Sample(background, weights=shares), tolerance=1e-10)
    singles = np.stack([explain(row, tolerance=1e-10).values.numpy() for row in background])
    mean = np.average(singles, axis=0, weights=shares)
    expected = np.sqrt(np.average((singles - mean) ** 2, axis=0, weights=shares))
    assert found.background_std is not None
    np.testing.assert_allclose(found.background_std.numpy(), expected, rtol=1e-7, atol=1e-10)
    assert explain(background[0]).background_std is None


def test_the_deviation_of_a_group_over_a_background_is_that_of_its_sum() -> None:
    background, groups = normal(generator(1), 4, FEATURES), {"first": ["x0", "x2"], "second": ["x1"]}
    found = explain(Sample(background), groups=groups, tolerance=1e-10)
    singles = torch.stack([explain(row, groups=groups, tolerance=1e-10).values for row in background])
    assert found.background_std is not None
    torch.testing.assert_close(found.background_std, singles.std(0, correction=0), rtol=1e-7, atol=1e-10)
    later = explain(Sample(background), tolerance=1e-10).group(groups)
    assert later.background_std is not None
    assert later.background_std[:, 0].isnan().all()  # which only explain(groups=...) knows
    torch.testing.assert_close(later.background_std[:, 1:], found.background_std[:, 1:])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], naming("3 weights", "[1.0, 2.0]")),
        ([1.0, -1.0, 1.0], naming("weights", -1, "row 1")),
        ([0.0, 0.0, 0.0], naming("weights", 0, "row 0")),
        (["a", "b", "c"], naming("3 weights")),
    ],
    ids=["two", "negative", "all zero", "texts"],
)
def test_shares_that_are_none_are_refused(weights: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sample(X0, weights=weights)
