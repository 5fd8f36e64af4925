"""Folders and files on any storage that fsspec supports: local paths, s3://, gs://, abfs://, memory://, ..."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import fsspec
from fsspec.implementations.local import LocalFileSystem

GLOB = frozenset("*?[")
VERSIONS = ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "mtime", "created")
"""Entries of a listing that change when the content of a file is replaced, the most specific first."""


@final
@dataclass(frozen=True)
class Place:
    """A folder or a file, by its path or URL. It is pickled as text, and connects where it is used."""

    url: str

    @staticmethod
    def of(path: "str | Path | Place") -> "Place":
        """The place of a path or URL; a relative path becomes absolute, since working folders of workers differ."""
        if isinstance(path, Place):
            return path
        text = str(path)
        return Place(text if "://" in text or "::" in text else os.path.abspath(text))

    def __str__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> "Place":
        return Place(f"{self.url.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.url.rstrip("/").rpartition("/")[2]

    @property
    def is_pattern(self) -> bool:
        """Whether it is a pattern of file names."""
        return bool(GLOB & set(self.url))

    @property
    def is_local(self) -> bool:
        """Whether it is a path of this machine."""
        return isinstance(self.connect()[0], LocalFileSystem)

    def connect(self) -> tuple[Any, str]:
        """The file system, and the path in it.

        Raises:
            ValueError, ImportError: if fsspec does not support the URL, or needs another package for it.
        """
        try:
            return fsspec.core.url_to_fs(self.url)
        except ValueError as cause:
            raise ValueError(f"expected a path or a URL that fsspec supports, got {self.url} ({cause}).") from cause
        except ImportError as cause:
            raise ImportError(f"expected a package of fsspec for {self.url}, got none: {cause}.") from cause

    def exists(self) -> bool:
        """Whether there is a file or a folder."""
        filesystem, path = self.connect()
        return bool(filesystem.exists(path))

    def is_folder(self) -> bool:
        """Whether it is a folder."""
        filesystem, path = self.connect()
        return bool(filesystem.isdir(path))

    def read(self) -> bytes:
        """The content of a file."""
        filesystem, path = self.connect()
        with filesystem.open(path, "rb") as file:
            return file.read()

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """The file, opened for reading at any position."""
        filesystem, path = self.connect()
        with filesystem.open(path, "rb") as file:
            yield file

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """The file, opened for writing. On this machine it appears when it is complete and on the disk.

        Elsewhere it appears when it is closed, even after an error, so that complete files have to be recorded.
        """
        filesystem, path = self.connect()
        if not isinstance(filesystem, LocalFileSystem):
            with filesystem.open(path, "wb") as file:
                yield file
            return
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def write(self, content: bytes) -> None:
        """Write a file as a whole."""
        with self.writing() as file:
            file.write(content)

    def remove(self) -> None:
        """Remove a file, or a folder with everything in it, if it exists."""
        filesystem, path = self.connect()
        if filesystem.exists(path):
            filesystem.rm(path, recursive=True)

    def sizes(self) -> dict[str, int]:
        """The sizes of the files below a folder, by their relative paths; empty if there is no folder."""
        filesystem, path = self.connect()
        filesystem.invalidate_cache()
        root = path.rstrip("/") + "/"
        return {name.removeprefix(root): info["size"] for name, info in filesystem.find(path, detail=True).items()}

    def version(self) -> str:
        """The version of a file according to its file system: an ETag or a time of modification."""
        filesystem, path = self.connect()
        info = filesystem.info(path)
        return next((f"{key} {info[key]}" for key in VERSIONS if info.get(key) is not None), "unknown")


def files_of(data: "str | Path | Place | Sequence[str | Path | Place]", endings: Sequence[str]) -> list[Place]:
    """The files of paths, folders, URLs and patterns, sorted and without repetitions.

    Of a folder these are the files with the given endings, except in hidden folders (`.x`, `_x`).

    Raises:
        FileNotFoundError: if there is no file for one of them.
    """
    given = [data] if isinstance(data, str | Path | Place) else list(data)
    places: dict[str, Place] = {}
    for place in map(Place.of, given):
        filesystem, path = place.connect()
        if place.is_pattern:
            paths = [name for name in filesystem.glob(path) if not filesystem.isdir(name)]
        elif filesystem.isdir(path):
            below = {name: name.removeprefix(path.rstrip("/") + "/").split("/") for name in filesystem.find(path)}
            paths = [name for name, parts in below.items() if not any(part[0] in "._" for part in parts)]
            paths = [name for name in paths if name.lower().endswith(tuple(endings))]
        else:
            paths = [path] if filesystem.exists(path) else []
        if not paths:
            raise FileNotFoundError(f"expected at least one file that ends in {', '.join(endings)}, got {place}: none.")
        local = isinstance(filesystem, LocalFileSystem)
        places |= {name: Place(name if local else filesystem.unstrip_protocol(name)) for name in paths}
    return [places[name] for name in sorted(places)]
