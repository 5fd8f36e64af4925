"""The folder of an unfinished run: finished parts, a record of each, and a manifest of what they are parts of."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, final

import pyarrow
from pyarrow import ipc

from gplens.explanation.storage import write

MANIFEST = "manifest.json"


@final
class Parts:
    """Parts of an output, each written before it is recorded, so that a run that was killed loses and skips nothing.

    Two files belong to part k: k.arrow with its rows, and k.json with its checksum, both written atomically and in this
    order. A part counts if both are there and agree.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, manifest: dict[str, Any]) -> None:
        """Make the folder, or continue with an existing one.

        Raises:
            ValueError: the folder belongs to a run with another model, input or options; the difference is named.
        """
        path = self.folder / MANIFEST
        if not path.is_file():
            self.folder.mkdir(exist_ok=True)
            write(path, json.dumps(manifest, indent=2).encode())
            return
        try:
            before = json.loads(path.read_bytes())
        except ValueError as cause:
            raise ValueError(
                f"expected the manifest of a run, got {path}, which is damaged ({cause}); remove "
                f"{self.folder}, or add --overwrite without --resume."
            ) from cause
        if changed := list(differences(before, manifest, "")):
            raise ValueError(
                f"expected the run that {self.folder} belongs to, got another one: {'; '.join(changed)}. Restore what "
                "it was, or begin again with --overwrite and without --resume."
            )

    def read(self, number: int) -> pyarrow.Table | None:
        """A finished part; None if it is not finished, or damaged."""
        part, record = self._files(number)
        if not (part.is_file() and record.is_file()):
            return None
        content = part.read_bytes()
        try:
            expected = json.loads(record.read_bytes()).get("sha256")
        except ValueError:
            return None
        if hashlib.sha256(content).hexdigest() != expected:
            return None
        return ipc.open_file(content).read_all()

    def add(self, number: int, table: pyarrow.Table) -> None:
        """Write a part, then its record."""
        part, record = self._files(number)
        sink = BytesIO()
        with ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        content = sink.getvalue()
        write(part, content)
        digest = hashlib.sha256(content).hexdigest()
        write(record, json.dumps({"rows": table.num_rows, "sha256": digest}).encode())

    def remove(self) -> None:
        """Remove the folder of parts, once the output is complete."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def remove_if_empty(self) -> None:
        """Remove the folder unless it has a finished part, so that a line that never worked is typed anew as it is."""
        if all(record.name == MANIFEST for record in self.folder.glob("*.json")):
            self.remove()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder, so that no second run works in it at the same time.

        Raises:
            BlockingIOError: if another run works in it.
        """
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as cause:
            os.close(descriptor)
            raise BlockingIOError(
                f"expected one run in {self.folder}, got a second one; wait for the first."
            ) from cause
        try:
            yield
        finally:
            os.close(descriptor)

    def _files(self, number: int) -> tuple[Path, Path]:
        return self.folder / f"{number:08d}.arrow", self.folder / f"{number:08d}.json"


def differences(before: Any, now: Any, place: str) -> Iterator[str]:
    """Phrases on the differences between two manifests."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            yield from differences(before.get(key), now.get(key), f"{place} {key}".strip())
    elif before != now:
        yield f"{place} was {_short(before)}, and is {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:24]}..."
