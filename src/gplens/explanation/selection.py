"""Outputs by their number or name, and groups of features by their names."""

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, SupportsIndex

Outputs = SupportsIndex | str | Sequence[SupportsIndex | str]


def output_index(names: tuple[str, ...], output: SupportsIndex | str) -> int:
    """The position of an output that is given by its number or its name."""
    positions = {name: i for i, name in enumerate(names)}
    i = index(output) if isinstance(output, SupportsIndex) else positions.get(output, -1)
    if not 0 <= i < len(names):
        raise ValueError(f"expected an output below {len(names)} or one of {list(names)}, got {output!r}.")
    return i


def output_indices(names: tuple[str, ...], outputs: Outputs) -> tuple[int, ...]:
    """The positions of the outputs asked for."""
    requested = [outputs] if isinstance(outputs, SupportsIndex | str) else list(outputs)
    chosen = tuple(output_index(names, output) for output in requested)
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"expected one or more different outputs of {list(names)}, got outputs={outputs!r}.")
    return chosen


def group_columns(names: tuple[str, ...], groups: Any) -> dict[str, list[int]]:
    """The columns of each feature after grouping. A group takes the place of its first feature."""
    if not isinstance(groups, Mapping):
        raise TypeError(f'expected groups such as {{"hour": ["hour_sin", "hour_cos"]}}, got {groups!r}.')
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        if len(members) == 0:
            raise ValueError(f"group {group!r}: expected at least one feature of {list(names)}, got none.")
        for member in [members] if isinstance(members, str) else members:
            if member not in names:
                raise ValueError(f"group {group!r}: expected features of {list(names)}, got {member!r}.")
            if member in group_of:
                raise ValueError(
                    f"expected feature {member!r} in one group, got it in {group_of[member]!r} and {group!r}."
                )
            group_of[member] = group
    columns: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        key = group_of.get(name, name)
        if key == name and name not in group_of and name in groups:
            raise ValueError(
                f"group {name!r}: expected a name that no feature outside the group has, got that of a feature. Choose "
                "another name."
            )
        columns.setdefault(key, []).append(i)
    return columns
