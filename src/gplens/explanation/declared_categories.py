"""Columns that a user declares to be categories: single ones, or blocks that change together."""

from collections.abc import Mapping, Sequence
from typing import Any

from gplens.explanation.selection import group_columns

EXAMPLE = '["colour"] or {"colour": ["colour_red", "colour_blue"]}'


def declared_blocks(names: tuple[str, ...], categories: Any) -> list[list[int]]:
    """The columns of each declared category.

    Raises:
        ValueError, TypeError: it is neither names of columns nor a mapping from a name to columns.
    """
    if categories is None:
        return []
    if isinstance(categories, str) or not isinstance(categories, Mapping | Sequence):
        raise TypeError(f"expected categories= as names of columns, such as {EXAMPLE}, got {categories!r}.")
    if not isinstance(categories, Mapping):
        for name in categories:
            if name not in names:
                raise ValueError(f"expected categories= among the columns {list(names)}, got {name!r}.")
        return [[names.index(name)] for name in categories]
    columns = group_columns(names, categories)
    return [columns[name] for name in categories]


def with_blocks(groups: Any, categories: Any) -> Any:
    """The groups of an explanation, with a group for each block of columns that is one category."""
    if not isinstance(categories, Mapping):
        return groups
    return {**categories, **(groups or {})}
