"""Transformers through which a straight line has no meaning: encoders, bins, imputers, row by row as the host has them."""

from typing import Any

from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.preprocessing import Binarizer, KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, TargetEncoder

from gplens.adapters.sklearn.plans import Plan, plan_of

INDICATOR = "missingindicator_"
"""What scikit-learn puts before the name of a column that says whether another one is missing."""


@plan_of.register
def _(step: OneHotEncoder, features: int) -> Plan:
    return _blocks(step, [int(count) for count in step._n_features_outs])


@plan_of.register
def _(step: OrdinalEncoder | Binarizer, features: int) -> Plan:
    return _blocks(step, [1] * features)


@plan_of.register
def _(step: TargetEncoder, features: int) -> Plan:
    return _blocks(step, [len(step.encodings_) // features] * features)


@plan_of.register
def _(step: KBinsDiscretizer, features: int) -> Plan:
    return _blocks(step, [1 if step.encode == "ordinal" else int(bins) for bins in step.n_bins_])


@plan_of.register
def _(step: SimpleImputer | KNNImputer | MissingIndicator, features: int) -> Plan:
    """Columns keep their names; those that say what is missing have a prefix."""
    given = getattr(step, "feature_names_in_", [f"x{i}" for i in range(features)])
    place = {str(name): i for i, name in enumerate(given)}
    names = [str(name) for name in step.get_feature_names_out()]
    return Plan.of_encoder(features, [_origin(name, place) for name in names], step)


@plan_of.register
def _(step: CountVectorizer | HashingVectorizer, features: int) -> Plan:
    """Words of a single column of text."""
    hashed = isinstance(step, HashingVectorizer)
    return _blocks(step, [step.n_features if hashed else len(step.vocabulary_)])


def _blocks(step: Any, counts: list[int]) -> Plan:
    """So many outputs of each column, one column after the other."""
    return Plan.of_encoder(len(counts), [k for k, count in enumerate(counts) for _ in range(count)], step)


def _origin(name: str, place: dict[str, int]) -> int:
    return place[name] if name in place else place[name.removeprefix(INDICATOR)]
