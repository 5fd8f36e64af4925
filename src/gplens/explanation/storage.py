"""Files that notice damage: tensors and a JSON header in the safetensors format, with a checksum over every byte."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor

BLANK = "0" * 64
"""The placeholder for the checksum while the checksum is computed."""
FIELD = re.compile(rb'"checksum": ?"([0-9a-f]{64})"')
"""The checksum field in JSON. Within a JSON text its quotes would be escaped, so that it occurs only once."""


class DamageError(ValueError):
    """The content of a file is damaged. The message ends a sentence that names the file."""


def with_checksum(content: bytes) -> bytes:
    """The content, with its SHA-256 written into its field `"checksum": BLANK`."""
    field = FIELD.search(content)
    assert field is not None
    start, end = field.span(1)
    return b"".join([content[:start], _digest(content, start, end), content[end:]])


def checksum_holds(content: bytes) -> bool | None:
    """Whether the content is unchanged since `with_checksum`; None if it has no checksum."""
    field = FIELD.search(content)
    return None if field is None else field[1] == _digest(content, *field.span(1))


def _digest(content: bytes, start: int, end: int) -> bytes:
    """The SHA-256 of the content with BLANK from start to end, in hexadecimal digits."""
    view, digest = memoryview(content), hashlib.sha256()
    for part in (view[:start], BLANK.encode(), view[end:]):
        digest.update(part)
    return digest.hexdigest().encode()


def pack(header: dict[str, Any], tensors: dict[str, Tensor]) -> bytes:
    """A header and tensors as the content of a file."""
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    return with_checksum(to_bytes(contiguous, metadata={"gplens": json.dumps(header), "checksum": BLANK}))


def unpack(content: bytes, kind: str, version: int) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The header and tensors that `pack` was given.

    Args:
        content: the content of a file.
        kind: the entry "format" that the header must have.
        version: the entry "format_version" of files that this version of gplens writes. Files of version 1 have no
            checksum.

    Raises:
        DamageError: the content is damaged, of another kind, or of a newer version.
    """
    holds = checksum_holds(content)
    if holds is False:
        raise DamageError("whose SHA-256 is not the one that it states: it is damaged")
    try:
        tensors = from_bytes(content)
        size = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
        header = json.loads(metadata.get("gplens", "{}"))
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as cause:
        raise DamageError(f"which is damaged or of another kind ({cause})") from cause
    if not isinstance(header, dict) or header.get("format") != kind:
        raise DamageError("another safetensors file")
    check_version(header, version, has_checksum=holds is not None)
    return header, tensors


def check_version(header: dict[str, Any], version: int, *, has_checksum: bool) -> None:
    """Raise a DamageError if the version is newer or not a number, or if the checksum is missing."""
    got = header.get("format_version")
    if not isinstance(got, int) or isinstance(got, bool) or got < 1:
        raise DamageError(f"whose format_version is {got!r}: it is damaged")
    if got > version:
        raise DamageError(f"of format {got}, where this version reads formats up to {version}: update gplens")
    if (got > 1) != has_checksum:
        raise DamageError(f"of format {got} {'with' if has_checksum else 'without'} a checksum: it is damaged")


def write(path: Path, content: bytes) -> None:
    """Write a file atomically: to a temporary file in the same folder, which is flushed and then renamed."""
    if path.is_dir():
        raise IsADirectoryError(f"expected the name of a file, got {path}, which is a folder. Add a file name to it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"expected an existing folder for {path.name}, got {path.parent}. Create it first.")
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(beside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as cause:
        beside.unlink(missing_ok=True)
        if isinstance(cause, OSError) and cause.errno is not None:
            cause.filename = str(path)  # an error of a full disk names no file, others the one beside
        raise
