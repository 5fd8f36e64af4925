"""What cannot be explained exactly is refused, with what was expected, what was got and what to do."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from botorch.models import (
    KroneckerMultiTaskGP,
    ModelListGP,
    MultiTaskGP,
    PairwiseGP,
    SingleTaskGP,
    SingleTaskVariationalGP,
)
from botorch.models.deterministic import GenericDeterministicModel
from botorch.models.fully_bayesian import SaasFullyBayesianSingleTaskGP
from botorch.models.transforms import Bilog, ChainedOutcomeTransform, Log, Power, Standardize
from botorch.models.transforms.input import (
    AppendFeatures,
    ChainedInputTransform,
    InputPerturbation,
    InputTransform,
    InteractionFeatures,
    Log10,
    Normalize,
    Round,
    Warp,
)
from botorch.models.transforms.outcome import OutcomeTransform, StratifiedStandardize
from botorch_zoo import branin
from gpytorch.kernels import MaternKernel
from torch import Tensor

import gplens

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")  # torch, for tasks
X, Y = branin()[0] / 15 + 0.4, branin()[1].abs() / 50 + 0.1


def explain(model: Any, inputs: Tensor = X[:2], **options: Any) -> gplens.Explanation:
    return gplens.explain(model, inputs, **{"baseline": X.mean(0), **options})


def model(**parts: Any) -> SingleTaskGP:
    with warnings.catch_warnings(action="ignore"):
        return SingleTaskGP(X, Y, **parts)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda: Round(integer_indices=[0], approximate=True), "Round.*staircase"),
        (lambda: Round(integer_indices=[0]), "whole numbers"),
        (
            lambda: ChainedInputTransform(a=Round(integer_indices=[0]), b=Warp(d=2, indices=[1])),
            "affine.*Round.*Warp",
        ),
        (lambda: AppendFeatures(torch.zeros(1, 1).double(), transform_on_train=True), "AppendFeatures"),
        (InteractionFeatures, "InteractionFeatures"),
        (lambda: InputPerturbation(torch.zeros(3, 2).double()), "InputPerturbation"),
    ],
    ids=["smooth Round", "Round", "chain", "AppendFeatures", "InteractionFeatures", "InputPerturbation"],
)
def test_input_transforms(transform: Callable[[], InputTransform], words: str) -> None:
    subject = model(covar_module=MaternKernel(nu=2.5))
    subject.input_transform = transform().eval()
    with pytest.raises(ValueError, match=words):
        explain(subject)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda: Power(power=0.5), r"Power .*posterior\(X\).mean"),
        (Bilog, "Standardize, Log.*Bilog"),
        (lambda: ChainedOutcomeTransform(a=Log(), b=Bilog()), "Bilog"),
        (lambda: Log(outputs=[0]), r"Log\(outputs=\[0\]\).*ModelListGP"),
        (lambda: ChainedOutcomeTransform(a=Log(), b=Log()), "got Log .*ChainedOutcomeTransform"),
        (lambda: ChainedOutcomeTransform(a=Standardize(m=1), b=Log()), "got Standardize .*ChainedOutcomeTransform"),
    ],
    ids=["Power", "Bilog", "chain", "some outputs", "two logarithms", "logarithm last"],
)
def test_outcome_transforms(transform: Callable[[], OutcomeTransform], words: str) -> None:
    subject = model(outcome_transform=Standardize(m=1))
    subject.outcome_transform = transform().eval()
    with pytest.raises(ValueError, match=words):
        explain(subject)


def test_a_scale_for_each_task() -> None:
    subject = model()
    subject.outcome_transform = StratifiedStandardize(stratification_idx=0, all_task_values=torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="StratifiedStandardize"):
        explain(subject)


def test_a_scale_that_was_never_learned() -> None:
    subject = model(outcome_transform=None)
    subject.outcome_transform = Standardize(m=1)
    with pytest.raises(ValueError, match="Standardize"):
        explain(subject)


def test_tasks() -> None:
    subject = MultiTaskGP(torch.cat([X, (X[:, :1] > 0.7).double()], dim=1), Y, task_feature=2)
    with pytest.raises(ValueError, match=r"3 columns.*column 2.* 2 columns"):
        explain(subject)
    inputs = torch.tensor([[0.2, 0.3, 1.0]]).double()
    with pytest.raises(ValueError, match=r"\[0, 1\] in column 2.*\[0.5, 3.0\]"):
        explain(subject, inputs, baseline=gplens.baselines.Sample(torch.tensor([[0.5, 0.5, 3.0], [0.5, 0.5, 0.5]])))


def test_tasks_that_are_no_numbers_in_order() -> None:
    subject = MultiTaskGP(torch.cat([X, 2 * (X[:, :1] > 0.7).double()], dim=1), Y, task_feature=2)
    inputs = torch.tensor([[0.2, 0.3, 2.0]]).double()
    with pytest.raises(ValueError, match=r"0, 1, 2, .*\[0, 2\]"):
        explain(subject, inputs, baseline=torch.tensor([0.5, 0.5, 2.0]))


@pytest.mark.parametrize("baseline", [0.0, -1.0])
def test_a_path_where_a_logarithm_ends(baseline: float) -> None:
    subject = model(input_transform=Log10(indices=[0, 1]))
    with pytest.raises(ValueError, match="input transform"):
        explain(subject, baseline=baseline)


def test_batches_of_models() -> None:
    with warnings.catch_warnings(action="ignore"):
        subject = SingleTaskGP(X.expand(3, -1, -1), Y.expand(3, -1, -1))
    with pytest.raises(ValueError, match=r"batch of shape \(3,\)"):
        explain(subject)


def test_a_batch_of_scales() -> None:
    subject = model()
    bounds = torch.tensor([[0.0, 0.0], [1.0, 2.0]]).double().expand(3, -1, -1)
    subject.input_transform = Normalize(d=2, bounds=bounds).eval()
    with pytest.raises(ValueError, match=r"Normalize.*batch shape \(3,\)"):
        explain(subject)


def test_draws_that_were_thrown_away() -> None:
    with warnings.catch_warnings(action="ignore"):
        subject = SaasFullyBayesianSingleTaskGP(X, Y)
    with pytest.raises(ValueError, match=r"draws.*fit_fully_bayesian_model_nuts"):
        explain(subject)


def test_a_curve_of_inducing_points() -> None:
    with warnings.catch_warnings(action="ignore"):
        subject = SingleTaskVariationalGP(X, Y, input_transform=Warp(d=2, indices=[0]), inducing_points=4)
    with pytest.raises(ValueError, match="Log10 or Warp"):
        explain(subject)


def kronecker() -> Any:
    return KroneckerMultiTaskGP(X, torch.cat([Y, -Y], dim=1))


def pairwise() -> Any:
    return PairwiseGP(X, torch.tensor([[0, 1], [2, 3]]))


def deterministic() -> Any:
    return GenericDeterministicModel(lambda x: x[..., :1])


@pytest.mark.parametrize("make", [kronecker, pairwise, deterministic])
def test_other_models(make: Callable[[], Any]) -> None:
    with warnings.catch_warnings(action="ignore"):
        subject = make()
    name = type(subject).__name__
    with pytest.raises(TypeError, match=f"SingleTaskGP.*BoTorch's {name}"):
        explain(subject)


def test_one_refused_model_of_a_list_refuses_the_list() -> None:
    with warnings.catch_warnings(action="ignore"):
        subject = ModelListGP(model(), kronecker())
    with pytest.raises(TypeError, match="BoTorch's KroneckerMultiTaskGP"):
        explain(subject)


def test_training_inputs_that_went_another_way() -> None:
    subject = model(input_transform=Log10(indices=[0], transform_on_train=False))
    with pytest.raises(ValueError, match=r"transform_on_train=False"):
        explain(subject)


def test_the_wrong_number_of_columns() -> None:
    with pytest.raises(ValueError, match=r" 2 columns.* 3"):
        explain(model(input_transform=Normalize(d=2)), torch.zeros(2, 3), baseline=0.0)


def test_another_likelihood_than_the_one_it_was_fitted_with() -> None:
    with pytest.raises(ValueError, match="BoTorch's posterior mean"):
        explain(model(), likelihood=gplens.links.Exp())


class Louder(SingleTaskGP):
    def posterior(self, *arguments: Any, **options: Any) -> Any:
        result = super().posterior(*arguments, **options)
        result.distribution.loc.mul_(2)
        return result


def test_a_posterior_that_a_subclass_has_changed() -> None:
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="posterior mean of"):
        explain(Louder(X, Y))


def test_a_threshold_below_an_outcome_that_is_positive() -> None:
    with pytest.raises(ValueError, match=r"Exceeds\(-1\)"):
        explain(model(outcome_transform=Log()), target=gplens.targets.Exceeds(-1.0))
