"""Bad input: what was got, what was wanted, what to do."""

import inspect

import numpy as np
import pandas
import pytest
import torch

import gplens
from conformance.zoo import EVERY_POSTERIOR, fitted, rows
from gplens import Posterior, Stack
from gplens.links import Exp
from gplens.rules import GaussLegendre

POSTERIOR, _ = fitted(EVERY_POSTERIOR[0], 51)
X, _ = rows(51, 3)
unchecked = inspect.unwrap(gplens.explain)
"""What a user meets, for whom no type is checked at run time."""


def refused(kind: type[Exception], message: str, X: object = X, model: object = POSTERIOR, **options: object) -> None:
    with pytest.raises(kind, match=message):
        unchecked(model, X, **{"baseline": 0.0, "likelihood": Exp(), **options})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_named_by_row_and_column(value: float) -> None:
    bad = X.clone()
    bad[1, 2] = bad[2, 0] = value
    refused(ValueError, f"X has 2 values that are not finite, the first {value} in row 1, column 2", bad)
    frame = pandas.DataFrame(bad.numpy(), columns=["a", "b", "c", "d"])
    refused(ValueError, r"row 1, column 2 \('c'\)", frame)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (X[:, :3], "X has 3 columns; the model was fitted on 4"),
        (X[:0], r"X has shape \(0, 4\); at least one row"),
        (X[:, :0], r"X has shape \(3, 0\); at least one row"),
        (X[0], r"X has shape \(4,\); a table \(rows, features\) was wanted. For one input, write X\[None\]"),
        (X[None], r"X has shape \(1, 3, 4\)"),
        (3.0, r"X has shape \(\)"),
        ([["a", "b", "c", "d"]], "X is not a table of numbers: got list"),
        (np.array([["1", "2", "3", "4"]]), "X is not a table of numbers: got ndarray .its type is <U1"),
        ([[1, 2, 3, 4], [1, 2]], "X is not a table of numbers"),
        (X.numpy() + 1j, "complex128"),
        (X + 1j, "X is torch.complex"),
        (pandas.DataFrame({"a": [1], "b": ["x"], "c": [1], "d": [1]}), "column 'b' has type .*Encode text"),
        (pandas.DataFrame({"a": [1], "b": [1], "c": [1], "when": pandas.to_datetime(["2020-01-01"])}), "column 'when'"),
        (pandas.DataFrame({c: pandas.to_datetime(["2020-01-01"]) for c in "abcd"}), "column 'a' has type datetime"),
        (pandas.DataFrame([["x", 1, 2, 3]], columns=list("aabc")), "column 'a'"),
        (pandas.DataFrame(X.numpy(), columns=list("aabc")), r"as many different names; got \['a', 'a', 'b', 'c'\]"),
    ],
)
def test_a_table_that_is_not_one_is_refused(X: object, message: str) -> None:
    refused(ValueError, message, X)


def test_names_that_do_not_fit_are_refused() -> None:
    refused(ValueError, "X has 4 columns, which want as many different names", feature_names=["a", "b", "c"])
    refused(ValueError, "as many different names", feature_names=["a", "b", "c", "a"])
    refused(ValueError, "as many different names", feature_names="abcd")


@pytest.mark.parametrize(
    "model", [lambda x: x, torch.nn.Linear(4, 1), "model", None], ids=["function", "net", "str", "None"]
)
def test_a_model_that_is_not_a_gaussian_process_is_refused(model: object) -> None:
    refused(TypeError, r"gplens cannot explain a .*gplens.Posterior.from_arrays\(kernel, Z, beta, A\)", model=model)


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    refused(TypeError, "Got the class Posterior; wanted was a fitted instance", model=Posterior)
    refused(TypeError, "Got the class Exp", likelihood=Exp)
    refused(TypeError, "target is <class .*wanted was an object such as gplens.targets", target=gplens.targets.Latent)
    refused(TypeError, "rule is <class .*wanted was an object such as gplens.rules", rule=GaussLegendre)


def test_strings_in_place_of_objects_are_refused() -> None:
    refused(TypeError, r"target is 'latent'; .* such as gplens.targets.Latent\(\)", target="latent")
    refused(TypeError, r"rule is 'gauss'; .* such as gplens.rules.GaussLegendre\(16\)", rule="gauss")
    refused(TypeError, r"cannot read a likelihood from a builtins.str; .*gplens.links.Exp\(\)", likelihood="poisson")


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, 2.0, 1e-14, float("nan"), float("inf")])
def test_a_tolerance_out_of_range_is_refused(tolerance: float) -> None:
    refused(ValueError, "wanted was a relative error from 1e-13 to 1, such as 1e-6", tolerance=tolerance)


@pytest.mark.parametrize("outputs", [2, -1, "output 7", [0, 2], [], [0, 0], ["output 0", "x"]])
def test_outputs_that_do_not_exist_are_refused(outputs: object) -> None:
    message = r"named \['output 0', 'output 1'\]"
    refused(ValueError, message, model=Stack((POSTERIOR, POSTERIOR)), outputs=outputs)


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(TypeError, match="tolerence"):
        unchecked(POSTERIOR, X, baseline=0.0, likelihood=Exp(), tolerence=1e-3)


def test_an_overflow_of_exp_is_said() -> None:
    far = gplens.Posterior(POSTERIOR.kernel, POSTERIOR.Z, 1e4 * torch.ones(len(POSTERIOR.Z)).double(), POSTERIOR.A)
    with pytest.raises(OverflowError, match="beyond float64 at m="):
        gplens.explain(far, POSTERIOR.Z[:1], baseline=0.0, likelihood=gplens.links.Exp())


@pytest.mark.parametrize(
    "table",
    [
        np.ma.masked_array(np.ones((1, 4)), mask=[[False, True, False, False]]),
        np.array([["1", 2.0, 3.0, 4.0]], dtype=object),
        torch.ones(1, 4).to_sparse(),
    ],
    ids=["masked", "text", "sparse"],
)
def test_what_only_looks_like_numbers_is_refused(table: object) -> None:
    refused(ValueError, "not a table of numbers|dense tensor of real numbers", X=table)


def test_options_of_the_wrong_kind_are_refused() -> None:
    refused(ValueError, "tolerance=1e-6: wanted was a relative error", tolerance="1e-6")
    refused(TypeError, "groups is 3; wanted were names of features by group", groups=3)
    with pytest.raises(ValueError, match="reach > 0 and panels >= 1"):
        gplens.rules.Adaptive(panels=0)
    with pytest.raises(TypeError, match=r"Custom"):
        gplens.targets.Custom(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="lengthscales above zero"):
        gplens.kernels.RBF(torch.tensor([1.0, 0.0]))
