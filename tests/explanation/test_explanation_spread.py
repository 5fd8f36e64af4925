"""The spread of an explanation through groups, contrasts, slices and files, and the properties that show it."""

from functools import cache
from pathlib import Path

import pytest
import torch

import gplens
from conformance.zoo import KERNELS, fitted, rows
from gplens import Diagonal, Explanation, Full, Samples, Stack
from gplens.explanation import Spread
from gplens.links import Exp, Identity, Link
from gplens.uncertainty import Uncertainty

REQUESTS = {
    "diagonal": Diagonal(),
    "full": Full(),
    "joint draws": Samples(30, seed=0),
    "draws apart": Samples(30, seed=0, joint=False),
}
every_request = pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
SHOWN = ("std", "std_error", "covariance", "draws")
"""Tensors of a spread that are properties of the explanation too."""


@cache
def explained(request: Uncertainty | None, link: Link = Exp()) -> Explanation:
    """Three inputs, two outputs."""
    stack = Stack((fitted(KERNELS["rbf"], 72)[0], fitted(KERNELS["rbf"], 73)[0]))
    return gplens.explain(stack, rows(72)[0], baseline=0.1, likelihood=link, uncertainty=request)


def spread_of(explanation: Explanation) -> Spread:
    assert explanation.spread is not None
    return explanation.spread


def assert_shown(explanation: Explanation, spread: Spread) -> None:
    """The explanation has this spread, and its properties are the spread's tensors."""
    assert spread_of(explanation).tensors().keys() == spread.tensors().keys()
    for name, tensor in spread.tensors().items():
        assert torch.equal(getattr(explanation.spread, name), tensor), name
        assert name not in SHOWN or torch.equal(getattr(explanation, name), tensor), name
    for name in set(SHOWN) - spread.tensors().keys():
        assert getattr(explanation, name) is None, name
    assert explanation.joint_draws == spread_of(explanation).joint_draws == spread.joint_draws
    assert explanation.gaussian == spread_of(explanation).gaussian == spread.gaussian


@every_request
@pytest.mark.parametrize("link", [Exp(), Identity()], ids=["Exp", "Identity"])
def test_properties_are_those_of_the_spread(request_: Uncertainty, link: Link) -> None:
    e = explained(request_, link)
    assert_shown(e, spread_of(e))
    assert e.gaussian == isinstance(link, Identity)
    assert (e.covariance is not None) == (request_ in (REQUESTS["full"], REQUESTS["joint draws"]))
    assert (e.draws is not None) == isinstance(request_, Samples)


def test_without_a_request_there_is_no_spread() -> None:
    e = explained(None)
    assert e.spread is None
    assert [getattr(e, name) for name in SHOWN] == [None] * len(SHOWN)
    assert not e.gaussian
    for part in (e[:2], e.contrast(0, 1), e.group({"two": ["x0", "x1"]})):
        assert part.spread is None


@every_request
@pytest.mark.parametrize("index", [1, slice(0, 2), [2, 0], [True, False, True]], ids=["int", "slice", "list", "mask"])
def test_a_slice_has_the_same_rows_of_the_spread(request_: Uncertainty, index: int | slice | list[int]) -> None:
    e = explained(request_)
    kept = torch.arange(3)[torch.tensor(index) if isinstance(index, list) else index].reshape(-1)
    assert_shown(e[index], spread_of(e).rows(kept))
    for name, tensor in spread_of(e).tensors().items():
        assert torch.equal(getattr(e[index].spread, name), tensor[kept]), name


@pytest.mark.parametrize("name", ["full", "joint draws"])
def test_a_group_has_the_spread_of_the_sum(name: str) -> None:
    e = explained(REQUESTS[name])
    grouped = e.group({"two": ["x0", "x2"]})
    assert grouped.feature_names == ("two", "x1", "x3")
    assert_shown(grouped, spread_of(e).group([[0, 2], [1], [3]]))
    assert e.covariance is not None
    assert grouped.std is not None
    total = e.covariance[..., [0, 2], :][..., [0, 2]].sum((-2, -1))
    torch.testing.assert_close(grouped.std[..., 0] ** 2, total, rtol=1e-12, atol=1e-15)
    if e.draws is not None and grouped.draws is not None:
        torch.testing.assert_close(grouped.draws[..., 0], e.draws[..., [0, 2]].sum(-1), rtol=1e-12, atol=1e-15)


@every_request
def test_a_group_of_one_feature_renames_it(request_: Uncertainty) -> None:
    e = explained(request_)
    renamed = e.group({"first": ["x0"]})
    assert renamed.feature_names == ("first", "x1", "x2", "x3")
    assert_shown(renamed, spread_of(e).group([[0], [1], [2], [3]]))
    assert renamed.std is not None
    assert e.std is not None
    assert torch.equal(renamed.std, e.std)


@every_request
def test_a_contrast_has_the_spread_of_the_difference_if_draws_are_joint(request_: Uncertainty) -> None:
    e = explained(request_)
    contrast, of_spread = e.contrast("output 1", 0), spread_of(e).contrast(1, 0)
    if request_ != REQUESTS["joint draws"]:
        assert of_spread is None
        assert contrast.spread is None
        assert [getattr(contrast, name) for name in SHOWN] == [None] * len(SHOWN)
        return
    assert of_spread is not None
    assert_shown(contrast, of_spread)
    assert e.draws is not None
    assert contrast.draws is not None
    assert torch.equal(contrast.draws, e.draws[:, :, 1] - e.draws[:, :, 0])
    torch.testing.assert_close(contrast.std, contrast.draws.std(1))


@every_request
def test_what_is_loaded_has_the_spread_that_was_saved(request_: Uncertainty, tmp_path: Path) -> None:
    e = explained(request_)
    parts = [e, e[1:], e.contrast(0, 1), explained(request_, Identity())]
    if request_ in (REQUESTS["full"], REQUESTS["joint draws"]):
        parts.append(e.group({"two": ["x0", "x2"]}))
    for part in parts:
        part.save(tmp_path / "e")
        loaded = Explanation.load(tmp_path / "e")
        if part.spread is None:
            assert loaded.spread is None
        else:
            assert_shown(loaded, part.spread)
            assert spread_of(loaded).has_interval == part.spread.has_interval
