"""Explanations as files: tensors in the safetensors format, everything else as JSON in its header."""

import warnings
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin

from jaxtyping import jaxtyped
from torch import Tensor

from gplens.adapters.labels import EntryTexts, Labels
from gplens.explanation.channels import Channels
from gplens.explanation.provenance import Provenance
from gplens.explanation.result import Explanation
from gplens.explanation.spread import Spread
from gplens.explanation.storage import DamageError, pack, unpack, write
from gplens.explanation.support import Support

FORMAT = "gplens explanation"
VERSION = 4
"""Files of all versions are read. Version 1 has no checksum, and its files are read with a warning. Version 2 lacks
parts of the support and the weights and deviations of a background; version 3 lacks channels."""
OF_SPREAD = {"std": "std", "std_error": "std_error", "covariance": "covariance", "draws": "draws"}
OF_SPREAD |= {"spread_error": "error", "spread_converged": "converged"}
"""Names of the tensors of the spread in a file, and their fields in the spread."""
OF_SUPPORT = {"support": "along", "support_prior_part": "prior_part", "support_data_part": "data_part"}
OF_SUPPORT |= {"support_distance": "distance", "support_baseline_std": "baseline_std"}
"""Names of the tensors of the support in a file, and their fields in the support."""
CODES = {"inputs": "input_codes", "baseline": "baseline_codes"}
"""Names of the codes of labels in a file, by their part of the labels."""


def save(explanation: Explanation, path: Path) -> None:
    """Write the file atomically: after a crash there is the old file or the new one."""
    spread, labels = explanation.spread, explanation.labels
    texts: dict[str, EntryTexts | None] = {name: getattr(labels, part) for part, name in CODES.items()}
    header = {
        "format": FORMAT,
        "format_version": VERSION,
        "feature_names": explanation.feature_names,
        "output_names": explanation.output_names,
        "background": explanation.background,
        "frame_backend": explanation.frame_backend,
        "row_names": labels.rows,
        "words": {name: None if part is None else part.words for name, part in texts.items()},
        "joint_draws": spread is None or spread.joint_draws,
        "across_rows": spread is not None and spread.across_rows,
        "gaussian": spread is not None and spread.gaussian,
        "provenance": asdict(explanation.provenance),
        "channels": None if explanation.channels is None else explanation.channels.names,
    }
    tensors = explanation.tensors()
    if spread is not None:
        tensors |= {name: spread.tensors()[field] for name, field in OF_SPREAD.items() if field in spread.tensors()}
    if explanation.support is not None:
        of_support = explanation.support.tensors()
        tensors |= {name: of_support[field] for name, field in OF_SUPPORT.items() if field in of_support}
    if explanation.channels is not None:
        tensors["channels"] = explanation.channels.values_by_name
    tensors |= {name: part.codes for name, part in texts.items() if part is not None}
    write(path, pack(header, tensors))


def load(path: Path) -> Explanation:
    """Read a file, after checking that it is complete, holds an explanation, and is not newer than this version."""
    expected = "expected a file that Explanation.save wrote, got"
    if path.is_dir():
        raise IsADirectoryError(
            f"{expected} {path}, which is a folder. Name a file in it, or read the folder of a model with "
            "gplens.estimators.load."
        )
    if not path.is_file():
        raise FileNotFoundError(f"{expected} {path}, which does not exist.")
    try:
        header, tensors = unpack(path.read_bytes(), FORMAT, VERSION)
        explanation = _explanation(header, tensors)
    except DamageError as damage:
        raise ValueError(f"{expected} {path}, {damage}.") from damage
    if header["format_version"] == 1:
        warnings.warn(
            f"{path} has format 1, which has no checksum: damage to its numbers would not be noticed. If the numbers "
            "are right, Explanation.load(path).save(path) adds a checksum.",
            stacklevel=3,
        )
    return explanation


def _explanation(header: dict[str, Any], tensors: dict[str, Tensor]) -> Explanation:
    """An Explanation from the parts of a file, after checking that all are there, with the right types and shapes."""
    of_spread = {field: tensors.pop(name) for name, field in OF_SPREAD.items() if name in tensors}
    support: dict[str, Any] = {field: tensors.pop(name) for name, field in OF_SUPPORT.items() if name in tensors}
    try:
        provenance: dict[str, Any] = {**header["provenance"], "notes": tuple(header["provenance"]["notes"])}
        names = {name: header[name] for name in ("feature_names", "output_names")}
        parts: dict[str, Any] = {name: None if given is None else tuple(given) for name, given in names.items()}
        parts |= {"background": header["background"], "frame_backend": header.get("frame_backend")}
        flags = {name: header[name] for name in ("joint_draws", "gaussian")}
        flags["across_rows"] = header.get("across_rows", False)  # files of earlier versions have none
        parts["labels"] = _read_labels(header, tensors)
        channels = _read_channels(header, tensors)
    except (AttributeError, KeyError, TypeError) as cause:
        raise DamageError(f"whose header lacks a part, or has one of another kind ({cause})") from cause
    spread: dict[str, Any] = {"std": None, **of_spread, **flags}
    parts |= {"error": None, "converged": None, **tensors, "spread": None, "support": None, "channels": None}
    _check_parts(Provenance, provenance)
    parts["provenance"] = Provenance(**provenance)
    _check_parts(Spread, spread)
    if support:
        _check_parts(Support, support)
    _check_parts(Explanation, parts)
    of_parts = {f"spread {name}": part for name, part in _types(Spread, spread).items()}  # its error is another one
    of_parts |= {**_types(Support, support), **_types(Channels, channels)}
    _check_shapes({**of_parts, **_types(Explanation, parts)})
    _check_lengths(parts)
    parts["spread"], parts["support"] = Spread(**spread) if of_spread else None, Support(**support) if support else None
    return Explanation(**{**parts, "channels": Channels(**channels) if channels else None})


def _read_channels(header: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The parts of the channels, whose tensor is removed from the tensors; none in files without channels."""
    if header.get("channels") is None:
        return {}
    parts = {"names": tuple(header["channels"]), "values_by_name": tensors.pop("channels")}
    _check_parts(Channels, parts)
    if len(parts["names"]) != len(parts["values_by_name"]):
        raise DamageError(f"which has {len(parts['names'])} names of {len(parts['values_by_name'])} channels")
    return parts


def _read_labels(header: dict[str, Any], tensors: dict[str, Tensor]) -> Labels:
    """The labels, whose codes are removed from the tensors; empty labels for files without them."""
    rows, words = header.get("row_names"), header.get("words") or {}
    parts: dict[str, Any] = {"rows": None if rows is None else tuple(rows)}
    for part, name in CODES.items():
        if words.get(name) is not None:
            texts = {"words": tuple(words[name]), "codes": tensors.pop(name)}
            _check_parts(EntryTexts, texts)
            parts[part] = EntryTexts(**texts)
    _check_parts(Labels, parts)
    return Labels(**parts)


def _check_parts(kind: type[Any], parts: dict[str, Any]) -> None:
    """Check that the parts are the fields of a dataclass, and that each has the type of its field."""
    required = {field.name for field in fields(kind) if field.default is MISSING}
    types = _types(kind, parts)
    if names := sorted(parts.keys() - types.keys() | required - parts.keys()):
        raise DamageError(f"which lacks, or has beside the parts of an explanation, {names}")
    for name, (part, expected) in types.items():
        if not _is(part, expected):
            raise DamageError(f"whose part {name!r} is of another kind: {_shown(part)}")


def _types(kind: type[Any], parts: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Pairs of each part and the type of its field in a dataclass."""
    return {field.name: (parts[field.name], field.type) for field in fields(kind) if field.name in parts}


def _is(part: Any, kind: Any) -> bool:
    """isinstance that also takes unions and tuples."""
    if isinstance(kind, UnionType):
        return any(_is(part, member) for member in get_args(kind))
    if get_origin(kind) is tuple:
        return isinstance(part, tuple) and all(_is(entry, get_args(kind)[0]) for entry in part)
    return isinstance(part, kind)


def _check_shapes(types: dict[str, tuple[Any, Any]]) -> None:
    """Check that axes with the same letter have the same length in all tensors."""
    with jaxtyped("context"):
        for name, (part, kind) in types.items():
            if isinstance(part, Tensor) and not isinstance(part, kind):
                raise DamageError(f"whose part {name!r} does not fit the others: {_shown(part)}")


def _shown(part: Any) -> str:
    return f"{part.dtype} {tuple(part.shape)}" if isinstance(part, Tensor) else repr(part)


def _check_lengths(parts: dict[str, Any]) -> None:
    """Check the lengths that do not follow from axes of tensors."""
    values, axes = parts["values"], [parts["output_names"], parts["feature_names"]]
    named = tuple(len(names) for names in axes if names is not None)
    if values.shape[1:] != named:
        raise DamageError(f"whose values of shape {tuple(values.shape)} do not fit names of {named}")
    labels: Labels = parts["labels"]
    for texts, numbers in ((labels.inputs, parts["inputs"]), (labels.baseline, parts["baseline"])):
        if texts is not None and (texts.codes.shape != numbers.shape or int(texts.codes.max()) >= len(texts.words)):
            raise DamageError(f"whose labels of shape {tuple(texts.codes.shape)} fit neither numbers nor words")
    if labels.rows is not None and len(labels.rows) != len(values):
        raise DamageError(f"which has {len(labels.rows)} names of rows for {len(values)} inputs")
    if not parts["background"] and len(parts["baseline"]) != len(values):
        raise DamageError(f"which has {len(parts['baseline'])} baselines for {len(values)} inputs")
