"""Explanations as files: tensors in the safetensors format, everything else as JSON in its header."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from gplens.explanation.result import Explanation, Provenance, tensors_of

FORMAT = "gplens explanation"
VERSION = 1


def save(explanation: Explanation, path: Path) -> None:
    """A crash leaves the old file or the new one."""
    header = {
        "format": FORMAT,
        "format_version": VERSION,
        "feature_names": explanation.feature_names,
        "output_names": explanation.output_names,
        "background": explanation.background,
        "joint_draws": explanation.joint_draws,
        "gaussian": explanation.gaussian,
        "provenance": asdict(explanation.provenance),
    }
    tensors = {name: tensor.contiguous() for name, tensor in tensors_of(explanation).items()}
    content = to_bytes(tensors, metadata={"gplens": json.dumps(header)})
    write(path, content)


def load(path: Path) -> Explanation:
    """Read, after checking that the file is whole, ours, and not newer than this version."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            header, tensors = _header(file.metadata(), path), dict(_tensors(file))
    except SafetensorError as cause:
        raise ValueError(f"{path} is damaged, or not a file that Explanation.save wrote ({cause}).") from cause
    return _build(header, tensors, path)


def _tensors(file: Any) -> Iterator[tuple[str, Tensor]]:
    for name in file.keys():  # noqa: SIM118 (not a mapping)
        yield name, file.get_tensor(name)


def _header(metadata: dict[str, str] | None, path: Path) -> dict[str, Any]:
    header = json.loads((metadata or {}).get("gplens", "{}"))
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} is a safetensors file, but not one that Explanation.save wrote.")
    if header["format_version"] > VERSION:
        got = header["format_version"]
        raise ValueError(f"{path} has format {got}; this gplens reads up to {VERSION}. Update gplens.")
    return header


def _build(header: dict[str, Any], tensors: dict[str, Tensor], path: Path) -> Explanation:
    provenance = dict(header["provenance"])
    provenance["notes"] = tuple(provenance["notes"])
    outputs = header["output_names"]
    try:
        return Explanation(
            **{"error": None, "converged": None, **tensors},  # pyright: ignore[reportArgumentType]
            feature_names=tuple(header["feature_names"]),
            output_names=None if outputs is None else tuple(outputs),
            provenance=Provenance(**provenance),
            background=header["background"],
            joint_draws=header["joint_draws"],
            gaussian=header["gaussian"],
        )
    except TypeError as cause:
        raise ValueError(f"{path} lacks a part of an explanation ({cause}).") from cause


def write(path: Path, content: bytes) -> None:
    """A crash leaves the old file or the new one, and nothing else that would be read."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} into.")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
