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

from gplens.explanation.provenance import Provenance
from gplens.explanation.result import Explanation
from gplens.explanation.spread import Spread

FORMAT = "gplens explanation"
VERSION = 1
OF_SPREAD = {"std": "std", "std_error": "std_error", "covariance": "covariance", "draws": "draws"}
OF_SPREAD["spread_converged"] = "converged"
"""Names of the spread's tensors in a file, and in the spread."""


def save(explanation: Explanation, path: Path) -> None:
    """A crash leaves the old file or the new one."""
    spread = explanation.spread
    header = {
        "format": FORMAT,
        "format_version": VERSION,
        "feature_names": explanation.feature_names,
        "output_names": explanation.output_names,
        "background": explanation.background,
        "frame_backend": explanation.frame_backend,
        "joint_draws": spread is None or spread.joint_draws,
        "gaussian": spread is not None and spread.gaussian,
        "provenance": asdict(explanation.provenance),
    }
    tensors = explanation.tensors()
    if spread is not None:
        tensors |= {name: spread.tensors()[field] for name, field in OF_SPREAD.items() if field in spread.tensors()}
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    write(path, to_bytes(contiguous, metadata={"gplens": json.dumps(header)}))


def load(path: Path) -> Explanation:
    """Read, after checking that the file is whole, an explanation, and not newer than this version."""
    if not path.is_file():
        raise FileNotFoundError(f"expected a file that Explanation.save wrote, got {path}, which does not exist.")
    try:
        with safe_open(path, framework="pt") as file:
            header, tensors = _header(file.metadata(), path), dict(_tensors(file))
    except SafetensorError as cause:
        raise ValueError(
            f"expected a file that Explanation.save wrote, got {path}, which is damaged or of another kind ({cause})."
        ) from cause
    return _explanation(header, tensors, path)


def _tensors(file: Any) -> Iterator[tuple[str, Tensor]]:
    for name in file.keys():  # noqa: SIM118 (not a mapping)
        yield name, file.get_tensor(name)


def _header(metadata: dict[str, str] | None, path: Path) -> dict[str, Any]:
    header = json.loads((metadata or {}).get("gplens", "{}"))
    if header.get("format") != FORMAT:
        raise ValueError(f"expected a file that Explanation.save wrote, got {path}, another safetensors file.")
    if header["format_version"] > VERSION:
        got = header["format_version"]
        raise ValueError(f"expected format {VERSION} or older, got {path} of format {got}. Update gplens.")
    return header


def _explanation(header: dict[str, Any], tensors: dict[str, Tensor], path: Path) -> Explanation:
    provenance = dict(header["provenance"])
    provenance["notes"] = tuple(provenance["notes"])
    outputs = header["output_names"]
    of_spread = {field: tensors.pop(name) for name, field in OF_SPREAD.items() if name in tensors}
    spread = None
    if of_spread:
        given = {"std": None, **of_spread}
        spread = Spread(**given, joint_draws=header["joint_draws"], gaussian=header["gaussian"])  # pyright: ignore
    try:
        return Explanation(
            **{"error": None, "converged": None, **tensors},  # pyright: ignore[reportArgumentType]
            feature_names=tuple(header["feature_names"]),
            output_names=None if outputs is None else tuple(outputs),
            provenance=Provenance(**provenance),
            background=header["background"],
            spread=spread,
            frame_backend=header.get("frame_backend"),
        )
    except TypeError as cause:
        raise ValueError(f"expected all parts of an explanation, got {path}, which lacks some ({cause}).") from cause


def write(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one: beside the target, flushed, then renamed."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected an existing folder for {path.name}, got {path.parent}. Create it first.")
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
