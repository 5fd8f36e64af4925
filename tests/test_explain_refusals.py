"""Bad input: the message names what was expected, what was got and what to do."""

import inspect

import numpy as np
import pandas
import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens import Posterior, Stack
from gplens.links import Exp
from gplens.rules import GaussLegendre
from messages import naming

POSTERIOR, _ = fitted(KERNELS["rbf"], 51)
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
    refused(ValueError, naming("X", "finite", 2, value, "row 1", "column 2"), bad)
    frame = pandas.DataFrame(bad.numpy(), columns=["a", "b", "c", "d"])
    refused(ValueError, naming("X", "finite", 2, value, "row 1", "column 2", "'c'"), frame)


ONES, DATES = {"a": [1], "b": [1], "c": [1]}, pandas.to_datetime(["2020-01-01"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        pytest.param(X[:, :3], naming("X", "columns", 3, 4), id="three columns"),
        pytest.param(X[:0], naming("X", "(0, 4)", "row"), id="no rows"),
        pytest.param(X[:, :0], naming("X", "(3, 0)", "feature"), id="no columns"),
        pytest.param(X[0], naming("X", "(rows, features)", "(4,)", "X[None]"), id="a vector"),
        pytest.param(X[None], naming("X", "(rows, features)", "(1, 3, 4)"), id="three axes"),
        pytest.param(3.0, naming("X", "(rows, features)", "()"), id="a number"),
        pytest.param([["a", "b", "c", "d"]], naming("X", "table of numbers", "list", "<U1"), id="letters"),
        pytest.param(np.array([["1", "2", "3", "4"]]), naming("X", "ndarray", "<U1"), id="digits as text"),
        pytest.param([[1, 2, 3, 4], [1, 2]], naming("X", "table of numbers", "list", "(2,)"), id="ragged"),
        pytest.param(X.numpy() + 1j, naming("X", "ndarray", "complex128"), id="complex array"),
        pytest.param(X + 1j, naming("X", "torch.complex128"), id="complex tensor"),
        pytest.param(pandas.DataFrame(ONES | {"b": ["x"]}), naming("X", "column 'b'", "text"), id="text column"),
        pytest.param(pandas.DataFrame(ONES | {"when": DATES}), naming("X", "column 'when'", "dates"), id="date column"),
        pytest.param(pandas.DataFrame(dict.fromkeys("abcd", DATES)), naming("X", "column 'a'", "dates"), id="dates"),
        pytest.param(pandas.DataFrame([["x", 1, 2, 3]], columns=list("aabc")), naming("X", "'a'"), id="two of a name"),
        pytest.param(
            pandas.DataFrame(X.numpy(), columns=list("aabc")),
            naming("X", "unique", "feature names", list("aabc")),
            id="two columns of a name",
        ),
    ],
)
def test_a_table_that_is_not_one_is_refused(X: object, message: str) -> None:
    refused(ValueError, message, X)


def test_names_that_do_not_fit_are_refused() -> None:
    for names in (["a", "b", "c"], ["a", "b", "c", "a"]):
        refused(ValueError, naming(4, "feature names", "X", names), feature_names=names)
    refused(ValueError, naming(4, "feature names", "X", list("abcd")), feature_names="abcd")


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (lambda x: x, "builtins.function"),
        (torch.nn.Linear(4, 1), "torch.nn.modules.linear.Linear"),
        ("model", "builtins.str"),
        (None, "builtins.NoneType"),
    ],
    ids=["function", "net", "str", "None"],
)
def test_a_model_that_is_not_a_gaussian_process_is_refused(model: object, name: str) -> None:
    message = naming(
        name, "gpytorch", "botorch", "gplens.Posterior.from_arrays(kernel, Z, beta, A)", "gplens.Functions"
    )
    refused(TypeError, message, model=model)


def test_a_class_in_place_of_an_instance_is_refused() -> None:
    refused(TypeError, naming("class Posterior", "fitted instance"), model=Posterior)
    refused(TypeError, naming("class Exp", "instance"), likelihood=Exp)
    refused(
        TypeError,
        naming("target", "gplens.targets.Latent()", repr(gplens.targets.Latent)),
        target=gplens.targets.Latent,
    )
    refused(TypeError, naming("rule", "gplens.rules.GaussLegendre(16)", repr(GaussLegendre)), rule=GaussLegendre)


def test_strings_in_place_of_objects_are_refused() -> None:
    refused(TypeError, naming("target", "'latent'", "gplens.targets.Latent()"), target="latent")
    refused(TypeError, naming("rule", "'gauss'", "gplens.rules.GaussLegendre(16)"), rule="gauss")
    refused(TypeError, naming("likelihood", "builtins.str", "gplens.links.Exp()"), likelihood="poisson")


@pytest.mark.parametrize("tolerance", [0.0, -1e-6, 1.0, 2.0, 1e-14, float("nan"), float("inf")])
def test_a_tolerance_out_of_range_is_refused(tolerance: float) -> None:
    refused(ValueError, naming("tolerance", 1e-13, 1, tolerance, "1e-6"), tolerance=tolerance)


@pytest.mark.parametrize(
    ("outputs", "got"),
    [(2, 2), (-1, -1), ("output 7", "output 7"), ([0, 2], 2), ([], []), ([0, 0], [0, 0]), (["output 0", "x"], "x")],
    ids=str,
)
def test_outputs_that_do_not_exist_are_refused(outputs: object, got: object) -> None:
    refused(
        ValueError, naming(["output 0", "output 1"], repr(got)), model=Stack((POSTERIOR, POSTERIOR)), outputs=outputs
    )


def test_a_misspelt_option_is_refused() -> None:
    with pytest.raises(TypeError, match="tolerence"):
        unchecked(POSTERIOR, X, baseline=0.0, likelihood=Exp(), tolerence=1e-3)


def test_an_overflow_of_exp_is_said() -> None:
    far = gplens.Posterior(POSTERIOR.kernel, POSTERIOR.Z, 1e4 * torch.ones(len(POSTERIOR.Z)).double(), POSTERIOR.A)
    with pytest.raises(OverflowError, match=naming(709, "exp(f)", "m", "v", "float64")):
        gplens.explain(far, POSTERIOR.Z[:1], baseline=0.0, likelihood=gplens.links.Exp())


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ma.masked_array(np.ones((1, 4)), mask=[[False, True, False, False]]), naming("X", "MaskedArray", "masked")),
        (np.array([["1", 2.0, 3.0, 4.0]], dtype=object), naming("X", "ndarray", "text")),
        (torch.ones(1, 4).to_sparse(), naming("X", "dense", "torch.sparse_coo")),
    ],
    ids=["masked", "text", "sparse"],
)
def test_what_only_looks_like_numbers_is_refused(table: object, message: str) -> None:
    refused(ValueError, message, X=table)


def test_options_of_the_wrong_kind_are_refused() -> None:
    refused(ValueError, naming("tolerance", 1e-13, 1, "1e-6"), tolerance="1e-6")
    refused(TypeError, naming("groups", 3), groups=3)
    with pytest.raises(ValueError, match=naming("Adaptive", "reach", "panels", 1, 0)):
        gplens.rules.Adaptive(panels=0)
    with pytest.raises(TypeError, match=naming("Custom", "link", "None")):
        gplens.targets.Custom(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=naming("RBF", "lengthscales", [1.0, 0.0])):
        gplens.kernels.RBF(torch.tensor([1.0, 0.0]))
