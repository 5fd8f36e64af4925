"""Files that are whole: written beside the target, flushed, renamed."""

import os
from pathlib import Path


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
