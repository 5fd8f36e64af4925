"""Selection of inputs by index, of outputs by index or name, and of groups of features by name."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.numbers import as_int

Outputs = SupportsIndex | str | Sequence[SupportsIndex | str]


def row_indices(rows: Any, count: int) -> Int[Tensor, " r"]:
    """The positions that an index, a slice, a list of indices or a mask selects among `count` inputs."""
    if isinstance(rows, slice):
        try:
            chosen = range(count)[rows]
        except (TypeError, ValueError) as cause:
            raise TypeError(f"expected a slice of whole numbers, got {rows} ({cause}).") from cause
        return chosen.start + chosen.step * torch.arange(len(chosen))
    number = as_int(rows)
    if number is not None and not -count <= number < count:
        raise IndexError(f"expected an input from {-count} to {count - 1}, since there are {count}, got {number}.")
    positions = np.array([number]) if number is not None else _positions(rows)
    if positions.dtype == bool:
        if len(positions) != count:
            raise IndexError(f"expected a mask with an entry for each of {count} inputs, got {len(positions)} entries.")
        return torch.from_numpy(positions.nonzero()[0])
    outside = positions[(positions < -count) | (positions >= count)]
    if len(outside):
        raise IndexError(f"expected inputs from {-count} to {count - 1}, since there are {count}, got {outside[0]}.")
    return torch.from_numpy(np.where(positions < 0, positions + count, positions))


def _positions(rows: Any) -> np.ndarray:
    """A list of indices, or a mask, as an array with one axis."""
    entries = rows.detach().cpu().numpy() if isinstance(rows, Tensor) else rows
    mixed = isinstance(rows, list) and len({isinstance(entry, bool | np.bool_) for entry in rows}) > 1
    try:
        array = np.asarray(entries)
    except ValueError:  # lists of different lengths
        array = np.empty((), dtype=object)
    if array.shape == (0,) and not isinstance(rows, str | Mapping):
        return np.zeros(0, dtype=np.int64)  # an empty list has no type of its own
    if array.ndim != 1 or array.dtype.kind not in "iub" or mixed:
        raise TypeError(
            f"expected an index of inputs: a whole number, a slice, several whole numbers, or a mask, got {rows!r}. "
            "Take features and outputs from .values."
        )
    return array if array.dtype == bool else array.astype(np.int64)


def output_index(names: tuple[str, ...], output: Any) -> int:
    """The position of an output that is given by index or name."""
    positions = {name: i for i, name in enumerate(names)}
    i = positions.get(output) if isinstance(output, str) else as_int(output)
    if i is None or not 0 <= i < len(names):
        raise ValueError(f"expected an output below {len(names)} or one of {list(names)}, got {output!r}.")
    return i


def output_indices(names: tuple[str, ...], outputs: Any) -> tuple[int, ...]:
    """The positions of the requested outputs."""
    single = isinstance(outputs, str) or not isinstance(outputs, Iterable) or getattr(outputs, "ndim", 1) == 0
    chosen = tuple(output_index(names, output) for output in ([outputs] if single else outputs))
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"expected one or more different outputs of {list(names)}, got outputs={outputs!r}.")
    return chosen


def group_columns(names: tuple[str, ...], groups: Any) -> dict[str, list[int]]:
    """The columns of each feature after grouping. A group takes the place of its first feature."""
    if not isinstance(groups, Mapping) or not all(isinstance(group, str) for group in groups):
        raise TypeError(f'expected groups such as {{"hour": ["hour_sin", "hour_cos"]}}, got {groups!r}.')
    group_of: dict[str, str] = {}
    for group, members in groups.items():
        for member in _members(group, members, names):
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


def _members(group: str, members: Any, names: tuple[str, ...]) -> list[str]:
    """The names of the features of a group."""
    if not isinstance(members, Iterable):
        raise TypeError(f"group {group!r}: expected a list of features of {list(names)}, got {members!r}.")
    listed = [members] if isinstance(members, str) else list(members)
    if not listed:
        raise ValueError(f"group {group!r}: expected at least one feature of {list(names)}, got none.")
    for member in listed:
        if not isinstance(member, str) or member not in names:
            raise ValueError(f"group {group!r}: expected features of {list(names)}, got {member!r}.")
    return listed


def sum_groups(values: Float[Tensor, "*b d"], columns: Mapping[str, list[int]]) -> Float[Tensor, "*b g"]:
    """The sums over the features of each group."""
    return torch.stack([values[..., group].sum(-1) for group in columns.values()], dim=-1)


def single_members(values: Float[Tensor, "*b d"], columns: Mapping[str, list[int]]) -> Float[Tensor, "*b g"]:
    """The value of the feature of a group with one feature; NaN for a group of several."""
    several = values.new_full(values.shape[:-1], torch.nan)
    return torch.stack([values[..., group[0]] if len(group) == 1 else several for group in columns.values()], dim=-1)


def if_known(
    of_groups: Callable[[Tensor, Mapping[str, list[int]]], Tensor],
    values: Tensor | None,
    columns: Mapping[str, list[int]],
) -> Tensor | None:
    """`sum_groups` or `single_members` of a part that is None in some explanations."""
    return None if values is None else of_groups(values, columns)
