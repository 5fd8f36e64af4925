"""Where data are looked for: the folder that GPLENS_DATA names, then a cache."""

import gzip
import os
import sys
from pathlib import Path


def cache() -> Path:
    """GPLENS_CACHE, or the folder that the platform has for caches."""
    if own := os.environ.get("GPLENS_CACHE"):
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "gplens"
    base = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    return Path(os.environ.get(base) or Path.home() / ".cache") / "gplens"


def places() -> list[Path]:
    """In the order in which they are looked into."""
    own = os.environ.get("GPLENS_DATA")
    return [*([Path(own)] if own else []), cache()]


def find(name: str) -> Path | None:
    """A file by its path inside the data folder, packed by gzip or not."""
    candidates = (place / f"{name}{ending}" for place in places() for ending in (".gz", ""))
    return next((path for path in candidates if path.is_file()), None)


def read(path: Path) -> bytes:
    """Its content, unpacked."""
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as cause:
        raise ValueError(f"{path} is damaged ({cause}). Get it again.") from cause


def missing(names: list[str], how: str) -> FileNotFoundError:
    """Which files were looked for, where, and how to get them."""
    folders = " and ".join(str(place) for place in places())
    return FileNotFoundError(f"Looked for {', '.join(names)} (or .gz) in {folders}. {how}")
