"""A table with its targets and names, and the folders in which the files of a dataset are looked for."""

import gzip
import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from jaxtyping import Float
from torch import Tensor


@final
@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, targets and the names of the features.

    Example:
        >>> bikes = gplens.datasets.bike_sharing(kaggle=False)
        >>> len(bikes.X), bikes.feature_names[:3], float(bikes.column("hour").max())
        (8645, ('month', 'day_of_year', 'hour'), 23.0)
    """

    X: Float[Tensor, "b d"]
    y: Float[Tensor, " b"]
    """What is to be predicted: a number, a count or the number of a class for each row."""
    feature_names: tuple[str, ...]
    description: str
    """Origin and units."""
    latent: Float[Tensor, "b c"] | None = None
    """The latent values from which synthetic targets were drawn."""

    def column(self, name: str) -> Float[Tensor, " b"]:
        """The values of one feature.

        Args:
            name: one of `feature_names`.

        Raises:
            ValueError: if there is no such feature.

        Example:
            >>> gplens.datasets.bike_sharing(kaggle=False).column("hour")[:3].tolist()
            [0.0, 1.0, 2.0]
        """
        if name not in self.feature_names:
            raise ValueError(f"expected a feature of {list(self.feature_names)}, got {name!r}.")
        return self.X[:, self.feature_names.index(name)]


@final
@dataclass(frozen=True, eq=False)
class Split:
    """A training set and a test set.

    Example:
        >>> from gplens.datasets import Split
        >>> digits = gplens.datasets.digits()
        >>> split = Split(train=digits, test=digits)
        >>> split.train.X.shape
        torch.Size([1797, 64])
    """

    train: Dataset
    test: Dataset


def cache() -> Path:
    """The folder that GPLENS_CACHE names, or the platform's folder for caches."""
    if folder := os.environ.get("GPLENS_CACHE"):
        return Path(folder)
    from platformdirs import user_cache_path

    return user_cache_path("gplens", appauthor=False)


def folders() -> list[Path]:
    """The folder that GPLENS_DATA names, if it is set, then the cache."""
    folder = os.environ.get("GPLENS_DATA")
    return [Path(folder), cache()] if folder else [cache()]


def find(name: str) -> Path | None:
    """The first file of this relative path in the folders, with or without the ending .gz; None if there is none."""
    candidates = (folder / f"{name}{ending}" for folder in folders() for ending in (".gz", ""))
    return next((path for path in candidates if path.is_file()), None)


def read(path: Path) -> bytes:
    """The content of a file, decompressed if its name ends in .gz."""
    content = path.read_bytes()
    try:
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError) as cause:
        raise ValueError(f"{path} is damaged ({cause}); download it again.") from cause


def missing(names: list[str], remedy: str) -> FileNotFoundError:
    """An error that says which files were looked for, in which folders, and how to get them."""
    places = " and ".join(str(folder) for folder in folders())
    return FileNotFoundError(f"expected {', '.join(names)} (or .gz) in {places}, found none. {remedy}")
