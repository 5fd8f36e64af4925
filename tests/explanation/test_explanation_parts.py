"""Explanations: slicing and grouping."""

import inspect

import numpy as np
import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from explanations import EVERY_EXPLANATION, NAMES, background, fixed, several, single
from gplens import Explanation
from gplens.explanation.result import BY_ROW
from gplens.links import Exp
from messages import naming

every_explanation = pytest.mark.parametrize("make", EVERY_EXPLANATION, ids=lambda make: make.__name__)
MASK = [True, False, True, False, True]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (2, [2]),
        (-1, [4]),
        (np.int64(2), [2]),
        (torch.tensor(2), [2]),
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, 2), [0, 2, 4]),
        ([3, 0], [3, 0]),
        (np.array([3, 0]), [3, 0]),
        (range(2), [0, 1]),
        (torch.tensor([1, 1]), [1, 1]),
        (MASK, [0, 2, 4]),
        (torch.tensor(MASK), [0, 2, 4]),
        (np.array(MASK), [0, 2, 4]),
        ([], []),
        (torch.zeros(5, dtype=torch.bool), []),
    ],
    ids=lambda index: f"{type(index).__name__} {index}",
)
def test_slicing_takes_the_same_rows_of_every_field(rows: object, expected: list[int]) -> None:
    e, part = single(), inspect.unwrap(Explanation.__getitem__)(single(), rows)  # as without a check of types
    assert len(part) == len(expected)
    for name in (*BY_ROW, "baseline"):
        tensor = getattr(e, name)
        assert tensor is None or torch.equal(getattr(part, name), tensor[expected]), name
    assert part.feature_names == e.feature_names
    assert part.provenance == e.provenance
    assert repr(part).startswith(f"Explanation of {len(expected)} input")


@every_explanation
def test_slicing_keeps_all_axes(make: object) -> None:
    e = make()  # type: ignore[operator]
    assert e[0].values.shape == (1, *e.values.shape[1:])
    assert (e[0].error is None) == (e.error is None)
    assert len(list(e)) == len(e.values)
    for part, values in zip(e, e.values, strict=True):
        assert torch.equal(part.values[0], values)


def test_a_row_that_does_not_exist_is_refused() -> None:
    with pytest.raises(IndexError):
        single()[5]
    with pytest.raises(IndexError):
        single()[[0, 9]]


def test_a_background_is_not_sliced() -> None:
    assert torch.equal(background()[1].baseline, background().baseline)
    assert torch.equal(background()[1:3].values, background().values[1:3])


@every_explanation
def test_groups_add_up(make: object) -> None:
    """Values and errors are sums; the total stays, and so does the gap."""
    e = make()  # type: ignore[operator]
    names = e.feature_names
    grouped = e.group({"both": [names[0], names[2]]})
    assert grouped.feature_names == ("both", names[1], names[3])
    torch.testing.assert_close(grouped.values[..., 0], e.values[..., 0] + e.values[..., 2], rtol=1e-15, atol=0)
    torch.testing.assert_close(grouped.values.sum(-1), e.values.sum(-1), rtol=1e-14, atol=1e-15)
    assert torch.equal(grouped.values[..., 1:], e.values[..., [1, 3]])
    if e.error is not None:
        torch.testing.assert_close(grouped.error[..., 0], e.error[..., 0] + e.error[..., 2], rtol=1e-15, atol=0)
    assert grouped.inputs[:, 0].isnan().all()
    assert torch.equal(grouped.inputs[:, 1:], e.inputs[:, [1, 3]])
    assert torch.equal(grouped.gap, e.gap)


def test_groups_may_be_named_in_explain_and_grouped_again() -> None:
    hours = single().group({"hour": ["hour_sin", "hour_cos"]})
    assert hours.feature_names == ("hour", "temp", "wind")
    weather = hours.group({"weather": ["temp", "wind"], "hour": "hour"})
    assert weather.feature_names == ("hour", "weather")
    torch.testing.assert_close(weather.values.sum(1), single().values.sum(1))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"hour": ["hour_sin", "hours"]}, naming("'hour'", "'hours'", list(NAMES))),
        ({"a": ["temp"], "b": ["temp", "wind"]}, naming("'temp'", "'a'", "'b'")),
        ({"a": ["temp", "temp"]}, naming("'temp'", "'a' and 'a'")),
        ({"a": []}, naming("group 'a'", list(NAMES))),
        ({"temp": ["wind"]}, naming("group 'temp'", "name")),
    ],
    ids=["unknown feature", "in two groups", "twice in a group", "empty group", "name of a feature"],
)
def test_groups_that_make_no_sense_are_refused(groups: dict[str, list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        single().group(groups)


def test_shapes_follow_the_number_of_outputs() -> None:
    assert single().values.shape == (5, 4)
    assert single().prediction.shape == (5,)
    assert single().feature_names == NAMES
    assert several().values.shape == (3, 2, 4)
    assert several().prediction.shape == (3, 2)
    assert several().output_names == ("output 0", "output 1")
    assert fixed().error is None
    assert fixed().converged is None
    assert fixed().nodes.tolist() == [8, 8, 8]


def test_outputs_are_chosen_by_number_or_name() -> None:
    (rbf, _), (matern, _), (X, _) = fitted(KERNELS["rbf"], 72), fitted(KERNELS["matern52"], 73), rows(72, 3)
    stack = gplens.Stack((rbf, matern))
    for outputs in (1, "output 1", [1], ["output 1"], np.int64(1)):
        e = gplens.explain(stack, X, baseline=0.1, likelihood=Exp(), outputs=outputs)
        assert e.output_names == ("output 1",)
        torch.testing.assert_close(e.values, several().values[:, 1:], rtol=1e-6, atol=1e-9)
    swapped = gplens.explain(stack, X, baseline=0.1, likelihood=Exp(), outputs=["output 1", 0])
    torch.testing.assert_close(swapped.values, several().values.flip(1), rtol=1e-12, atol=1e-13)
