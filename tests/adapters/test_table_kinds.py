"""Tables of all kinds give the same explanation, and are left as they were."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest
import torch

import gplens
from conformance.zoo import EVERY_POSTERIOR, fitted, rows
from gplens.adapters.reading import read_host_likelihood
from gplens.adapters.tables import read_table
from gplens.baselines import Rows
from gplens.links import Exp

POSTERIOR, _ = fitted(EVERY_POSTERIOR[0], 61)
X = rows(61, 3)[0].float().double()  # numbers that float32 holds exactly
NAMES = ["a", "b", "c", "d"]


def explain(X: object) -> gplens.Explanation:
    return gplens.explain(POSTERIOR, X, baseline=0.0, likelihood=Exp())


def columns() -> dict[str, Any]:
    return {name: X[:, i].numpy() for i, name in enumerate(NAMES)}


@pytest.mark.parametrize(
    "table",
    [
        X,
        X.numpy(),
        X.float(),
        X.numpy().astype(np.float32),
        X.clone().requires_grad_(),
        X.float().requires_grad_(),
        X.tolist(),
        [tuple(row) for row in X.tolist()],
        np.asfortranarray(X.numpy()),
        X.numpy()[::-1][::-1],
        pandas.DataFrame(X.numpy(), columns=NAMES),
        pandas.DataFrame(X.numpy().astype(np.float32), columns=NAMES),
        X.numpy().astype(object),
    ],
    ids=lambda item: f"{type(item).__name__} {getattr(item, 'dtype', '')}",
)
def test_every_kind_of_table_gives_the_same_explanation(table: object) -> None:
    e = explain(table)
    assert torch.equal(e.values, explain(X).values)
    assert e.values.dtype == torch.float64
    assert not e.values.requires_grad


FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": pandas.DataFrame,
    "polars": polars.DataFrame,
    "pyarrow": pyarrow.table,
}
each_backend = pytest.mark.parametrize("backend", FRAMES)


@each_backend
def test_every_kind_of_frame_gives_the_same_explanation(backend: str) -> None:
    frame = FRAMES[backend](columns())
    e = explain(frame)
    assert torch.equal(e.values, explain(X).values)
    assert e.feature_names == tuple(NAMES)
    table = read_table(frame, "X")
    assert (table.backend, table.names) == (backend, tuple(NAMES))


def test_arrays_have_no_backend() -> None:
    for table in (X, X.numpy(), X.tolist()):
        assert read_table(table, "X").backend is None
    assert read_table(pandas.Series([1.0, 2.0], index=["a", "b"]), "x0", vectors=True).backend is None


@each_backend
def test_mixed_numbers_and_what_is_not_a_number(backend: str) -> None:
    frame = FRAMES[backend]({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5]})
    assert read_table(frame, "X").values.tolist() == [[1, 1, 0.5], [2, 0, 1.5]]
    with pytest.raises(ValueError, match=r"X.*'b'"):
        read_table(FRAMES[backend]({"a": [1, 2], "b": ["x", "y"]}), "X")
    with pytest.raises(ValueError, match=r"X.* 1 .*nan.*row 1.*'b'"):
        read_table(FRAMES[backend]({"a": [1.0, 2.0], "b": [1.0, float("nan")]}), "X")
    with pytest.raises(ValueError, match=r"X.*(row 1.*'b'|'b')"):
        read_table(FRAMES[backend]({"a": [1, 2], "b": [1, None]}), "X")


def test_frames_that_are_refused() -> None:
    with pytest.raises(ValueError, match=r"LazyFrame.*collect\(\)"):
        read_table(polars.DataFrame(columns()).lazy(), "X")
    with pytest.raises(ValueError, match=r"\['a', 'a'\]"):
        read_table(pandas.DataFrame([[1.0, 2.0]], columns=["a", "a"]), "X")
    with pytest.raises(ValueError, match=r"\(0, 2\)"):
        read_table(pandas.DataFrame({"a": [], "b": []}, dtype=float), "X")
    with pytest.raises(ValueError, match=r"\(3, 0\)"):
        read_table(pandas.DataFrame(index=range(3)), "X")


@pytest.mark.parametrize("kind", [int, bool, np.int8, np.uint8])
def test_whole_numbers_and_booleans_are_numbers(kind: type) -> None:
    numbers = np.array([[1, 0, 1, 1], [0, 0, 1, 0]])
    expected = explain(numbers.astype(float)).values
    assert torch.equal(explain(numbers.astype(kind)).values, expected)
    assert torch.equal(explain(torch.as_tensor(numbers.astype(kind))).values, expected)
    assert torch.equal(explain(numbers.astype(kind).tolist()).values, expected)


def test_a_frame_of_mixed_numeric_types_is_numbers() -> None:
    frame = pandas.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, 1.5], "d": np.array([1, 2], np.int8)})
    assert read_table(frame, "X").values.tolist() == [[1, 1, 0.5, 1], [2, 0, 1.5, 2]]


def test_names_come_from_the_frame_unless_given() -> None:
    frame = pandas.DataFrame(X.numpy(), columns=NAMES)
    assert explain(frame).feature_names == tuple(NAMES)
    assert explain(X).feature_names == ("x0", "x1", "x2", "x3")
    renamed = gplens.explain(POSTERIOR, frame, baseline=0.0, likelihood=Exp(), feature_names=list("pqrs"))
    assert renamed.feature_names == ("p", "q", "r", "s")


def test_names_that_are_not_text_become_text() -> None:
    assert explain(pandas.DataFrame(X.numpy(), columns=[0, 1, 2, 3])).feature_names == ("0", "1", "2", "3")


def test_the_explanation_does_not_change_with_the_users_tensor() -> None:
    mine = X.clone()
    e = gplens.explain(POSTERIOR, mine, baseline=Rows(mine), likelihood=Exp())
    mine += 1
    assert torch.equal(e.inputs, X)
    assert torch.equal(e.baseline, X)


def test_explain_works_in_inference_mode() -> None:
    """A posterior whose gradient needs autograd, and inputs made where autograd is off."""
    posterior = next(p for p, _ in (fitted(case, 62) for case in EVERY_POSTERIOR) if p.autograd)
    expected = gplens.explain(posterior, X, baseline=0.0, likelihood=Exp())
    with torch.inference_mode():
        result = gplens.explain(posterior, X.clone(), baseline=0.0, likelihood=Exp())
    assert posterior.autograd
    assert torch.equal(result.values, expected.values)


def test_the_module_of_hosts_is_loaded_when_needed_only() -> None:
    with pytest.raises(TypeError, match=r"gpytorch.*builtins\.object"):
        gplens.read(object())
    assert gplens.read(POSTERIOR).process is POSTERIOR
    assert read_host_likelihood(Exp()).name == "Exp()"
