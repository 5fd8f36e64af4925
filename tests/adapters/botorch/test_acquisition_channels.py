"""Exploitation and exploration: channels of acquisition functions, kinks of sqrt(v), and what is refused."""

import pytest
import torch
from acquisition_zoo import BOUNDED, CANDIDATES, INCUMBENT, best, one, two
from botorch.acquisition import FixedFeatureAcquisitionFunction, analytic
from botorch.models import SingleTaskGP
from botorch.models.gp_regression import SingleTaskGP as Model
from gpytorch.kernels import RBFKernel

import gplens
from gplens.page.report_data import report
from messages import naming


def explained(acquisition: object, **options: object) -> gplens.Explanation:
    return gplens.explain(acquisition, CANDIDATES, baseline=INCUMBENT, tolerance=1e-12, **options)  # type: ignore[arg-type]


def test_channels_of_a_confidence_bound_are_the_mean_and_the_deviation() -> None:
    bound = analytic.UpperConfidenceBound(one(), beta=0.25)
    e = explained(bound)
    mean, deviation = explained(analytic.PosteriorMean(one())), explained(analytic.PosteriorStandardDeviation(one()))
    assert e.channels is not None
    size = e.values.abs().max()
    assert (e.channels["mean"] - mean.values).abs().max() <= 1e-10 * size
    assert (e.channels["variance"] - 0.5 * deviation.values).abs().max() <= 1e-10 * size


def test_channels_of_any_target() -> None:
    """The mean of a lognormal outcome depends on both; its latent function on the mean alone."""
    e = explained(two(), channels=True)
    assert e.channels is not None
    assert torch.equal(e.channels["mean"], e.values)
    assert not e.channels["variance"].any()
    uncertain = explained(two(), channels=True, target=gplens.targets.EpistemicVariance())
    assert uncertain.channels is not None
    assert (uncertain.channels["variance"] - uncertain.values).abs().max() <= 1e-9 * uncertain.values.abs().max()
    assert explained(two()).channels is None


def test_channels_of_constraints_are_one_each() -> None:
    """log EI and the log of a probability add up, so that the channels are known apart."""
    whole = explained(analytic.LogConstrainedExpectedImprovement(two(), best(), 0, BOUNDED))
    limit = explained(analytic.LogProbabilityOfFeasibility(two(), BOUNDED))
    assert whole.channels is not None
    assert tuple(whole.channels) == ("mean", "variance", "constraint on output 1")
    assert (whole.channels["constraint on output 1"] - limit.values).abs().max() <= 1e-9 * whole.values.abs().max()


def test_channels_are_sliced_grouped_saved_and_shown(tmp_path: object) -> None:
    e = explained(analytic.LogExpectedImprovement(one(), best()))
    assert e.channels is not None
    row = e[1]
    assert row.channels is not None
    assert torch.equal(row.channels["mean"], e.channels["mean"][1:])
    grouped = e.group({"both": ["x0", "x2"]})
    assert grouped.channels is not None
    assert torch.equal(grouped.channels["mean"][:, 0], e.channels["mean"][:, [0, 2]].sum(1))
    e.save(f"{tmp_path}/e.gplens")
    loaded = gplens.Explanation.load(f"{tmp_path}/e.gplens")
    assert loaded.channels is not None
    assert all(torch.equal(loaded.channels[name], part) for name, part in e.channels.items())
    frame = e.to_frame()
    assert frame["channel mean"].tolist() == e.channels["mean"].flatten().tolist()
    assert "variance" in repr(e)
    assert "variance" in e._repr_html_()
    page = report(e, 0.9, None, torch.arange(2))
    assert [part["name"] for part in page["channels"]] == ["mean", "variance"]
    assert page["acquisition"]
    legend = e[0].plot().get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["mean", "variance"]
    with pytest.raises(KeyError, match=naming("mean", "variance", "explore")):
        e.channels["explore"]


def noise_free() -> Model:
    X = torch.tensor([[0.0, 0.0], [0.5, 0.5], [1.0, 0.2], [0.2, 0.9]]).double()
    kernel = RBFKernel(ard_num_dims=2)
    kernel.lengthscale = 0.5
    y = torch.sin(3 * X).sum(1, keepdim=True)
    return SingleTaskGP(X, y, torch.zeros_like(y), covar_module=kernel, outcome_transform=None).eval()


@pytest.mark.parametrize("kind", ["deviation", "UCB", "log EI"])
def test_a_path_through_a_training_point_without_noise_converges(kind: str) -> None:
    """sqrt(v) is |t - 1/2| there: its gradient jumps, and the attributions still add up to acquisition(X)."""
    with pytest.warns():
        model = noise_free()
    acquisition = {
        "deviation": analytic.PosteriorStandardDeviation(model),
        "UCB": analytic.UpperConfidenceBound(model, beta=4.0),
        "log EI": analytic.LogExpectedImprovement(model, best_f=0.5),
    }[kind]
    x0 = torch.tensor([0.02, 0.02]).double()
    e = gplens.explain(acquisition, 1 - x0[None], baseline=x0)
    end, start = acquisition(e.inputs[:, None]), acquisition(x0[None, None])
    assert bool(e.converged.all())
    assert (e.values.sum() - (end - start)).abs() <= 1e-6 * (e.values.abs().max() + end.abs())


def test_fixed_features_have_no_attribution() -> None:
    inner = analytic.LogExpectedImprovement(one(), best())
    fixed = FixedFeatureAcquisitionFunction(inner, d=3, columns=[1], values=[float(CANDIDATES[0, 1])])
    e, whole = explained(fixed), explained(inner)
    assert not e.values[:, 1].any()
    start = INCUMBENT.clone()
    start[1] = CANDIDATES[0, 1]
    moved = inner(CANDIDATES[:1, None]) - inner(start[None, None])
    assert (e.values[0].sum() - moved).abs() <= 1e-8 * whole.values.abs().max()
    free = gplens.explain(fixed, CANDIDATES[:, [0, 2]], baseline=INCUMBENT[[0, 2]], tolerance=1e-12)
    assert (free.values - e.values[:, [0, 2]]).abs().max() <= 1e-9 * e.values.abs().max()


def test_error_bars_are_refused_with_the_way_to_them() -> None:
    acquisition = analytic.LogExpectedImprovement(one(), best())
    for uncertainty in (True, gplens.Diagonal()):
        with pytest.raises(ValueError, match=naming("acquisition.model", "uncertainty=True")):
            explained(acquisition, uncertainty=uncertainty)


def test_other_targets_and_changes_are_refused() -> None:
    acquisition = analytic.LogExpectedImprovement(one(), best())
    with pytest.raises(ValueError, match=naming("Latent", "LogExpectedImprovement")):
        explained(acquisition, target=gplens.targets.Latent())
    reading = gplens.read(acquisition, points=CANDIDATES)
    acquisition.best_f = acquisition.best_f + 1
    with pytest.raises(ValueError, match=naming("best_f", "LogExpectedImprovement")):
        explained(reading)


def test_a_subclass_is_explained_by_its_own_values() -> None:
    class Doubled(analytic.LogExpectedImprovement):
        def forward(self, X: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(X)

    plain = gplens.explain(analytic.LogExpectedImprovement(one(), best()), CANDIDATES, baseline=INCUMBENT)
    e = gplens.explain(Doubled(one(), best()), CANDIDATES, baseline=INCUMBENT)
    assert (e.values - 2 * plain.values).abs().max() <= 1e-5 * e.values.abs().max()
    assert "autograd" in repr(e)
    with pytest.raises(ValueError, match=naming("channels", "Doubled")):
        gplens.explain(Doubled(one(), best()), CANDIDATES, baseline=INCUMBENT, channels=True)
