"""Transformers that the host runs, since no straight line passes through them: encoders, bins, imputers."""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from gplens.adapters.sklearn.plans import Show, StepPlan, plan_of, transformed

Array = NDArray[np.float64]
LISTED = 3
"""The number of categories of an average that are listed, those with the largest shares."""
INDICATOR = "missingindicator_"
"""scikit-learn's prefix of columns that say whether another column is missing."""


@plan_of.register
def _(step: OneHotEncoder, features: int) -> StepPlan:
    counts = [int(count) for count in step._n_features_outs]
    return _blocks(step, counts, shown_categories(step, counts))


@plan_of.register
def _(step: OrdinalEncoder, features: int) -> StepPlan:
    return _blocks(step, [1] * features, shown_categories(step, [1] * features))


@plan_of.register
def _(step: TargetEncoder, features: int) -> StepPlan:
    counts = [len(step.encodings_) // features] * features
    return _blocks(step, counts, shown_categories(step, counts))


@plan_of.register
def _(step: KBinsDiscretizer, features: int) -> StepPlan:
    return _blocks(step, [1 if step.encode == "ordinal" else int(bins) for bins in step.n_bins_], numeric=True)


@plan_of.register
def _(step: Binarizer, features: int) -> StepPlan:
    return _blocks(step, [1] * features, numeric=True)


@plan_of.register
def _(step: SimpleImputer | KNNImputer | MissingIndicator, features: int) -> StepPlan:
    """Columns keep their names; indicators of missing entries have a prefix."""
    given = getattr(step, "feature_names_in_", [f"x{i}" for i in range(features)])
    place = {str(name): i for i, name in enumerate(given)}
    names = [str(name) for name in step.get_feature_names_out()]
    shown = {place[name]: _first for name in names if name in place}
    return StepPlan.of_encoder(features, [_origin(name, place) for name in names], step, shown, numeric=True)


@plan_of.register
def _(step: CountVectorizer | HashingVectorizer, features: int) -> StepPlan:
    """Words of a single column of text."""
    hashed = isinstance(step, HashingVectorizer)
    return _blocks(step, [step.n_features if hashed else len(step.vocabulary_)])


def _blocks(
    step: Any, counts: list[int], shown: Mapping[int, Show] | None = None, *, numeric: bool = False
) -> StepPlan:
    """The input column of each output, given the number of outputs of each column."""
    origins = [k for k, count in enumerate(counts) for _ in range(count)]
    return StepPlan.of_encoder(len(counts), origins, step, shown, numeric)


def _first(values: Array) -> list[str | float | None]:
    """The imputed number, which comes before the indicator of missing entries."""
    return list(values[:, 0].tolist())


def shown_categories(step: Any, counts: list[int]) -> dict[int, Show]:
    """The category of the outputs, column by column; for an average of one-hot rows, the largest shares."""
    most = max(len(categories) for categories in step.categories_)
    every = [[categories[min(i, len(categories) - 1)] for categories in step.categories_] for i in range(most)]
    table = np.empty((most, len(counts)), dtype=object)
    table[:] = every
    with warnings.catch_warnings(action="ignore"):  # names of columns, which are not needed here
        rows, shown, start = transformed(step, table), {}, 0
    for k, (categories, count) in enumerate(zip(step.categories_, counts, strict=True)):
        block = rows[: len(categories), start : start + count]
        shown[k] = partial(_category, [str(category) for category in categories], block)
        start += count
    return shown


def _category(names: list[str], patterns: Array, values: Array) -> list[str | float | None]:
    return [_shown(row, names, patterns) for row in values]


def _shown(row: Array, names: list[str], patterns: Array) -> str | None:
    """The name whose outputs these are; shares if each category has an output of its own."""
    same = np.flatnonzero((patterns == row).all(1))
    if len(same):
        return " or ".join(names[i] for i in same[:LISTED]) + (" or others" if len(same) > LISTED else "")
    if patterns.shape != (len(names), len(names)) or not (patterns == np.eye(len(names))).all() or (row < 0).any():
        return None
    order = np.argsort(-row, kind="stable")
    listed = ", ".join(f"{100 * row[i]:.3g} % {names[i]}" for i in order[:LISTED])
    return listed + (f", {len(order) - LISTED} more" if len(order) > LISTED else "")


def _origin(name: str, place: dict[str, int]) -> int:
    return place[name] if name in place else place[name.removeprefix(INDICATOR)]
