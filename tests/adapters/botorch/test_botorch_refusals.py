"""What cannot be explained exactly is refused, with what was got, what was wanted and what to do."""

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
    OneHotToNumeric,
    Round,
    Warp,
)
from botorch.models.transforms.outcome import OutcomeTransform, StratifiedStandardize
from botorch_zoo import branin, mixed
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
        (lambda: Round(integer_indices=[0]), "Round makes the prediction a staircase"),
        (lambda: ChainedInputTransform(a=Normalize(d=2), b=Round(integer_indices=[0])), "Fit the model on inputs that"),
        (lambda: AppendFeatures(torch.zeros(1, 1).double(), transform_on_train=True), "AppendFeatures makes several"),
        (InteractionFeatures, "InteractionFeatures makes several inputs, or more columns"),
        (lambda: InputPerturbation(torch.zeros(3, 2).double()), "InputPerturbation makes several inputs"),
        (lambda: OneHotToNumeric(dim=2, categorical_features={0: 2}), "OneHotToNumeric is not known to have a deriv"),
    ],
    ids=["Round", "chain with Round", "AppendFeatures", "InteractionFeatures", "InputPerturbation", "OneHotToNumeric"],
)
def test_input_transforms(transform: Callable[[], InputTransform], words: str) -> None:
    own = model(covar_module=MaternKernel(nu=2.5))
    own.input_transform = transform().eval()
    with pytest.raises(ValueError, match=words):
        explain(own)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda: Power(power=0.5), r"Power cannot be explained: .* posterior\(X\).mean does not exist"),
        (Bilog, "Bilog cannot be explained: .* Wanted were Standardize, Log"),
        (lambda: ChainedOutcomeTransform(a=Log(), b=Bilog()), "Bilog cannot be explained"),
        (lambda: Log(outputs=[0]), r"Log\(outputs=\[0\]\) has no posterior .* Use a ModelListGP"),
        (lambda: ChainedOutcomeTransform(a=Log(), b=Log()), "takes Log before a logarithm"),
        (lambda: ChainedOutcomeTransform(a=Standardize(m=1), b=Log()), "Put the logarithm first"),
    ],
    ids=["Power", "Bilog", "chain", "some outputs", "two logarithms", "logarithm last"],
)
def test_outcome_transforms(transform: Callable[[], OutcomeTransform], words: str) -> None:
    own = model(outcome_transform=Standardize(m=1))
    own.outcome_transform = transform().eval()
    with pytest.raises(ValueError, match=words):
        explain(own)


def test_a_scale_for_each_task() -> None:
    own = model()
    own.outcome_transform = StratifiedStandardize(stratification_idx=0, all_task_values=torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="StratifiedStandardize cannot be explained"):
        explain(own)


def test_a_scale_that_was_never_learned() -> None:
    own = model(outcome_transform=None)
    own.outcome_transform = Standardize(m=1)
    with pytest.raises(ValueError, match="never saw any outcomes"):
        explain(own)


def test_categories_that_change() -> None:
    with warnings.catch_warnings(action="ignore"):
        own = mixed()
    inputs = torch.tensor([[0.2, 0.3, 1.0]]).double()
    with pytest.raises(ValueError, match=r"changes, by 1, a feature .* \(CategoricalKernel\)"):
        explain(own, inputs, baseline=torch.tensor([0.5, 0.5, 0.0]))


def test_tasks() -> None:
    own = MultiTaskGP(torch.cat([X, (X[:, :1] > 0.7).double()], dim=1), Y, task_feature=2)
    with pytest.raises(ValueError, match=r"column 2 is the task. .* explain one at a time"):
        explain(own)
    inputs = torch.tensor([[0.2, 0.3, 1.0]]).double()
    with pytest.raises(ValueError, match=r"changes, by 1, a feature .* \(PositiveIndexKernel\)"):
        explain(own, inputs, baseline=torch.tensor([0.5, 0.5, 0.0]))
    with pytest.raises(ValueError, match=r"the task, has \[2.0, 3.0\] in X, .* the model knows \[0, 1\]"):
        explain(own, inputs, baseline=torch.tensor([0.5, 0.5, 3.0]))


def test_tasks_that_are_no_numbers_in_order() -> None:
    own = MultiTaskGP(torch.cat([X, 2 * (X[:, :1] > 0.7).double()], dim=1), Y, task_feature=2)
    inputs = torch.tensor([[0.2, 0.3, 2.0]]).double()
    with pytest.raises(ValueError, match=r"The tasks have the values \[0, 2\]; wanted were 0, 1, 2"):
        explain(own, inputs, baseline=torch.tensor([0.5, 0.5, 2.0]))


@pytest.mark.parametrize("baseline", [0.0, -1.0])
def test_a_path_where_a_logarithm_ends(baseline: float) -> None:
    own = model(input_transform=Log10(indices=[0, 1]))
    with pytest.raises(ValueError, match="above zero for a logarithm"):
        explain(own, baseline=baseline)


def test_batches_of_models() -> None:
    with warnings.catch_warnings(action="ignore"):
        own = SingleTaskGP(X.expand(3, -1, -1), Y.expand(3, -1, -1))
    with pytest.raises(ValueError, match=r"is a batch of models, of shape \(3,\). Explain them one by one"):
        explain(own)


def test_a_batch_of_scales() -> None:
    own = model()
    bounds = torch.tensor([[0.0, 0.0], [1.0, 2.0]]).double().expand(3, -1, -1)
    own.input_transform = Normalize(d=2, bounds=bounds).eval()
    with pytest.raises(ValueError, match=r"Normalize has batch shape \(3,\)"):
        explain(own)


def test_draws_that_were_thrown_away() -> None:
    with warnings.catch_warnings(action="ignore"):
        own = SaasFullyBayesianSingleTaskGP(X, Y)
    with pytest.raises(ValueError, match="no draws of its hyper-parameters"):
        explain(own)


def test_a_curve_of_inducing_points() -> None:
    with warnings.catch_warnings(action="ignore"):
        own = SingleTaskVariationalGP(X, Y, input_transform=Warp(d=2, indices=[0]), inducing_points=4)
    with pytest.raises(ValueError, match="A variational model keeps inducing points"):
        explain(own)


def kronecker() -> Any:
    return KroneckerMultiTaskGP(X, torch.cat([Y, -Y], dim=1))


def pairwise() -> Any:
    return PairwiseGP(X, torch.tensor([[0, 1], [2, 3]]))


def deterministic() -> Any:
    return GenericDeterministicModel(lambda x: x[..., :1])


@pytest.mark.parametrize("make", [kronecker, pairwise, deterministic])
def test_other_models(make: Callable[[], Any]) -> None:
    with warnings.catch_warnings(action="ignore"):
        own = make()
    name = type(own).__name__
    with pytest.raises(TypeError, match=f"does not know how to read BoTorch's {name}; wanted was a SingleTaskGP"):
        explain(own)


def test_one_refused_model_of_a_list_refuses_the_list() -> None:
    with warnings.catch_warnings(action="ignore"):
        own = ModelListGP(model(), kronecker())
    with pytest.raises(TypeError, match="BoTorch's KroneckerMultiTaskGP"):
        explain(own)


def test_training_inputs_that_went_another_way() -> None:
    own = model(input_transform=Log10(indices=[0], transform_on_train=False))
    with pytest.raises(ValueError, match=r"transform_on_train=False"):
        explain(own)


def test_the_wrong_number_of_columns() -> None:
    with pytest.raises(ValueError, match="X has 3 columns; the model was fitted on 2"):
        explain(model(input_transform=Normalize(d=2)), torch.zeros(2, 3), baseline=0.0)


def test_another_likelihood_than_the_one_it_was_fitted_with() -> None:
    with pytest.raises(ValueError, match="does not fit it"):
        explain(model(), likelihood=gplens.links.Exp())


class Louder(SingleTaskGP):
    def posterior(self, *arguments: Any, **options: Any) -> Any:
        found = super().posterior(*arguments, **options)
        found.distribution.loc.mul_(2)
        return found


def test_a_posterior_that_a_subclass_has_changed() -> None:
    with warnings.catch_warnings(action="ignore"), pytest.raises(ValueError, match="What is explained would not be"):
        explain(Louder(X, Y))


def test_a_threshold_below_an_outcome_that_is_positive() -> None:
    with pytest.raises(ValueError, match="is above zero for certain"):
        explain(model(outcome_transform=Log()), target=gplens.targets.Exceeds(-1.0))
