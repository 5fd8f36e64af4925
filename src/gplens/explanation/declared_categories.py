"""Columns that are categories: which the user declares, and how explanations name them and their codes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.labels import EntryTexts
from gplens.explanation.result import Explanation
from gplens.explanation.selection import group_columns

EXAMPLE = '["colour"], {"colour": {0: "red", 1: "blue"}} or {"colour": ["colour_red", "colour_blue"]}'
SEPARATORS = "_=: "
"""The characters that may separate category and level in the name of a one-hot column."""

Categories = Mapping[str, Sequence[str] | Mapping[Any, str]] | Sequence[str]


def declared_blocks(names: tuple[str, ...], categories: Any) -> list[list[int]]:
    """The columns of each declared category.

    Raises:
        ValueError, TypeError: if `categories` is neither a list of columns nor a mapping to codes or columns.
    """
    if isinstance(categories, str) or not isinstance(categories, Mapping | Sequence):
        raise TypeError(f"expected categories= such as {EXAMPLE}, got {categories!r}.")
    single = [name for name in categories if name not in _several(categories)]
    for name in single:
        if name not in names:
            raise ValueError(f"expected categories= among the columns {list(names)}, got {name!r}.")
    columns = group_columns(names, _several(categories))
    return [[names.index(name)] for name in single] + [columns[name] for name in _several(categories)]


def _several(categories: Any) -> dict[str, Any]:
    """The blocks of columns that are one category."""
    if not isinstance(categories, Mapping):
        return {}
    return {name: members for name, members in categories.items() if not isinstance(members, Mapping)}


def with_blocks(groups: Any, categories: Any) -> Any:
    """The groups of an explanation, with a group for each block of columns that is one category."""
    blocks = _several(categories)
    return {**blocks, **(groups or {})} if blocks else groups


def category_texts(
    features: tuple[str, ...], names: tuple[str, ...], categories: Any, rows: Float[Tensor, "b d"]
) -> EntryTexts | None:
    """The texts printed for the categories of rows, by feature of an explanation; None if no category has names.

    A code is printed as the name given for it, a block as the name of its largest column without the block's name.

    Raises:
        ValueError: if a code has no name.
    """
    if not isinstance(categories, Mapping):
        return None
    columns: list[list[str | None]] = []
    for feature in features:
        given = categories.get(feature)
        if given is None:
            columns.append([None] * len(rows))
        elif isinstance(given, Mapping):
            columns.append([_name(feature, given, code) for code in rows[:, names.index(feature)].tolist()])
        else:
            members = list(given)
            places = rows[:, [names.index(member) for member in members]].argmax(1).tolist()
            columns.append([members[place].removeprefix(feature).lstrip(SEPARATORS) or feature for place in places])
    return EntryTexts.of(columns)


def with_names_of_categories(
    explanation: Explanation, names: tuple[str, ...], categories: Any, X: Float[Tensor, "b d"], X0: Float[Tensor, "_ d"]
) -> Explanation:
    """With the names that the user gave to codes and blocks, from inputs and baselines in all columns."""
    inputs, baseline = (category_texts(explanation.feature_names, names, categories, rows) for rows in (X, X0))
    if inputs is None:
        return explanation
    return replace(explanation, labels=replace(explanation.labels, inputs=inputs, baseline=baseline))


def with_switched_columns(explanation: Explanation, columns: Sequence[str]) -> Explanation:
    """With a provenance that names the columns that paths switch at once."""
    path = f"path that switches {', '.join(columns)} at once, each with probability t (MATH 10)"
    others = explanation.provenance.path
    path = path if others is None else f"{path}; other columns: {others}"
    return replace(explanation, provenance=replace(explanation.provenance, path=path))


def _name(feature: str, given: Mapping[Any, str], code: float) -> str:
    for key, name in given.items():
        if float(key) == code:
            return str(name)
    raise ValueError(f"expected a name for every code of {feature!r} in categories=, got none for {code:g}.")
