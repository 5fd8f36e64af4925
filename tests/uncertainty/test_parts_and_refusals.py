"""Error bars through groups, contrasts, slices, files, frames and text; and what is refused."""

import inspect
from pathlib import Path

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, generator, normal, rows
from explanations import all_tensors
from gplens import Diagonal, Explanation, Full, Mix, Posterior, Process, Samples, Stack, explain
from gplens.baselines import Rows
from gplens.expectations.softmax import Softmax, SoftmaxTaylor
from gplens.kernels import RBF
from gplens.likelihood import Likelihood
from gplens.links import Exp, SigmoidTaylor
from gplens.targets import EpistemicVariance, Latent
from gplens.uncertainty import Uncertainty
from messages import naming

NAMES = ("sin", "cos", "temp", "wind")
GROUPS = {"hour": ["sin", "cos"]}
unchecked = inspect.unwrap(gplens.explain)


def single(request: Uncertainty | None, **options: object) -> Explanation:
    (posterior, _), (X, X0) = fitted(KERNELS["rbf"], 71), rows(71, 3)
    return unchecked(
        posterior, X, baseline=Rows(X0), likelihood=Exp(), uncertainty=request, feature_names=NAMES, **options
    )


def several(request: Uncertainty, likelihood: object = None) -> Explanation:
    parts = tuple(fitted(KERNELS["rbf"], seed)[0] for seed in (72, 73, 74))
    return unchecked(Stack(parts), rows(72)[0], baseline=0.1, likelihood=likelihood or Exp(), uncertainty=request)


def test_the_deviation_of_a_group_uses_the_covariance() -> None:
    e = single(Full())
    grouped = e.group(GROUPS)
    assert e.covariance is not None
    assert grouped.std is not None
    assert grouped.covariance is not None
    C = e.covariance
    expected = C[:, 0, 0] + C[:, 1, 1] + 2 * C[:, 0, 1]
    torch.testing.assert_close(grouped.std[:, 0], expected.sqrt())
    torch.testing.assert_close(grouped.covariance[:, 0, 1], C[:, 0, 2] + C[:, 1, 2])
    named = single(Diagonal(), groups=GROUPS)
    assert named.std is not None
    torch.testing.assert_close(named.std, grouped.std)


def test_the_deviation_of_a_group_without_covariances_is_refused() -> None:
    e = single(Diagonal())
    with pytest.raises(ValueError, match=naming("group", "covariances", "uncertainty=gplens.Full()", "groups")):
        e.group(GROUPS)
    renamed = e.group({"heat": ["temp"]})
    assert renamed.std is not None
    assert torch.equal(renamed.std, e.std)
    assert single(None).group(GROUPS).std is None


def test_groups_of_classes_come_from_draws() -> None:
    e = several(Samples(400, 0), Likelihood("softmax", Softmax()))
    grouped = e.group({"two": ["x0", "x1"]})
    assert e.draws is not None
    assert grouped.std is not None
    assert grouped.std_error is not None
    torch.testing.assert_close(grouped.std[..., 0], (e.draws[..., 0] + e.draws[..., 1]).std(1))
    with pytest.raises(ValueError, match=naming("Full()", "Softmax", "Samples(count, seed)")):
        several(Full(), Likelihood("softmax", Softmax()))


def test_a_contrast_has_the_deviation_of_joint_draws_or_none() -> None:
    e = several(Samples(400, 0))
    contrast = e.contrast(0, 1)
    assert e.draws is not None
    assert contrast.std is not None
    torch.testing.assert_close(contrast.std, (e.draws[:, :, 0] - e.draws[:, :, 1]).std(1))
    assert contrast.covariance is None
    assert several(Full()).contrast(0, 1).std is None


def test_tasks_that_share_latent_functions_are_drawn_together() -> None:
    """Two tasks that are one function, scaled: their draws are too."""
    base = fitted(KERNELS["rbf"], 75)[0]
    X, X0 = rows(75, 1)
    e = explain(
        Mix(base, torch.tensor([[1.0], [-2.0]]).double()),
        X,
        baseline=Rows(X0),
        target=Latent(),
        uncertainty=Samples(9, 0),
    )
    assert e.draws is not None
    torch.testing.assert_close(e.draws[:, :, 1], -2 * e.draws[:, :, 0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("request_", [Diagonal(), Full(), Samples(7, 0), Samples(7, 0, joint=False)], ids=repr)
def test_slices_files_frames_and_text_have_it_all(request_: Uncertainty, tmp_path: Path) -> None:
    for e in (single(request_), several(request_)):
        part = e[1:]
        e.save(tmp_path / "e")
        loaded = Explanation.load(tmp_path / "e")
        assert all_tensors(loaded).keys() == all_tensors(e).keys()
        for name, tensor in all_tensors(e).items():
            assert torch.equal(all_tensors(loaded)[name], tensor), name
        for name in ("std", "covariance", "draws"):
            tensor = getattr(e, name)
            assert tensor is None or torch.equal(getattr(part, name), tensor[1:])
        assert (loaded.joint_draws, loaded.gaussian) == (e.joint_draws, e.gaussian)
        assert e.std is not None
        assert torch.equal(torch.as_tensor(e.to_frame()["std"].to_numpy().copy()), e.std.flatten())
        assert " +- " in repr(e)
    assert " +- " not in repr(single(None))


@pytest.mark.parametrize("request_", [Diagonal(), Full(), Samples(5, 0)], ids=repr)
def test_targets_that_are_not_random_are_refused(request_: Uncertainty) -> None:
    with pytest.raises(ValueError, match=naming("uncertainty", "LatentVariance")):
        single(request_, target=EpistemicVariance())
    posterior, X = fitted(KERNELS["rbf"], 76)[0], rows(76)[0]
    with pytest.raises(ValueError, match=naming("uncertainty", "SigmoidTaylor()")):
        explain(posterior, X, baseline=0.0, likelihood=SigmoidTaylor(), uncertainty=request_)
    with pytest.raises(ValueError, match=naming("uncertainty", "SoftmaxTaylor()")):
        several(request_, Likelihood("taylor", SoftmaxTaylor()))


def test_predictive_variance_is_refused() -> None:
    gpytorch = pytest.importorskip("gpytorch")
    posterior, X = fitted(KERNELS["rbf"], 76)[0], rows(76)[0]
    with pytest.raises(ValueError, match=naming("uncertainty", "TotalVariance", "Probit")):
        explain(
            posterior,
            X,
            baseline=0.0,
            likelihood=gpytorch.likelihoods.BernoulliLikelihood(),
            target=gplens.targets.PredictiveVariance(),
            uncertainty=Diagonal(),
        )


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(ValueError, match=naming("Samples", "count", 2, 1)):
        Samples(1, 0)
    for wrong in ("full", Full):
        with pytest.raises(TypeError, match=naming("uncertainty", "gplens.Diagonal()", repr(wrong))):
            single(wrong)  # type: ignore[arg-type]


def test_joint_draws_of_very_many_attributions_are_refused() -> None:
    g = generator(78)
    posterior = Posterior.exact(RBF(torch.full((500,), 20.0).double()), normal(g, 5, 500), normal(g, 5), noise=0.1)
    with pytest.raises(ValueError, match=naming(500, "joint", "Samples(count, seed, joint=False)")):
        explain(posterior, normal(g, 1, 500), baseline=0.0, likelihood=Exp(), uncertainty=Samples(10, 0))
    apart = explain(
        posterior, normal(g, 1, 500), baseline=0.0, likelihood=Exp(), uncertainty=Samples(10, 0, joint=False)
    )
    assert apart.draws is not None
    assert apart.draws.shape == (1, 10, 500)


def test_nothing_extra_is_computed_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("pairs was called")

    for kind in (Posterior, Stack, Mix):
        assert issubclass(kind, Process)
        monkeypatch.setattr(kind, "pairs", never)
        monkeypatch.setattr(kind, "split_pairs", never)
    e = single(None)
    assert (e.std, e.covariance, e.draws) == (None, None, None)
    with pytest.raises(AssertionError, match="pairs was called"):
        single(Diagonal())
