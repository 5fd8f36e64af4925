"""MNIST and Fashion-MNIST, from IDX files in GPLENS_DATA or the cache, else from OpenML; scikit-learn's digits."""

from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gplens.datasets.dataset import Dataset, Split, cache, find, missing, read

FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
TRAINING = 60_000
"""Rows of the official training set, which come first in OpenML's tables."""
UNSIGNED_BYTES = 8
"""The type code of the IDX format that these files use."""


def mnist() -> Split:
    """Handwritten digits: 60,000 and 10,000 images of 28 x 28 pixels from 0 to 1 (LeCun, Cortes and Burges).

    Returns:
        A Split: `train` and `test`.

    Raises:
        FileNotFoundError: the files are neither in the folder of GPLENS_DATA nor in the cache, nor can they be fetched.

    Example:
        >>> split = gplens.datasets.mnist()  # doctest: +SKIP
        >>> split.test.X.shape  # doctest: +SKIP
    """
    return _images("mnist", "mnist_784", "MNIST: handwritten digits, pixels from 0 to 1 (LeCun, Cortes and Burges).")


def fashion_mnist() -> Split:
    """Articles of clothing in the same format (Xiao, Rasul and Vollgraf 2017, MIT licence).

    Returns:
        A Split: `train` and `test`.

    Raises:
        FileNotFoundError: the files are neither in the folder of GPLENS_DATA nor in the cache, nor can they be fetched.

    Example:
        >>> split = gplens.datasets.fashion_mnist()  # doctest: +SKIP
        >>> split.test.X.shape  # doctest: +SKIP
    """
    return _images(
        "fashion-mnist", "Fashion-MNIST", "Fashion-MNIST: articles of clothing, pixels from 0 to 1 (Xiao et al. 2017)."
    )


def digits() -> Dataset:
    """1,797 digits of 8 x 8 pixels from 0 to 16, which come with scikit-learn.

    Returns:
        A Dataset whose features are named "pixel_0_0" and so on.

    Raises:
        ImportError: scikit-learn is not installed.

    Example:
        >>> gplens.datasets.digits().feature_names[:2]
        ('pixel_0_0', 'pixel_0_1')
    """
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    X, y = (torch.from_numpy(bunch[part].astype(np.float64)) for part in ("data", "target"))
    return Dataset(X, y, tuple(bunch.feature_names), "Digits of 8 x 8 pixels from 0 to 16 (UCI, scikit-learn).")


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """An array of bytes from the IDX format: a magic number, the sizes of the axes, then the values."""
    content = read(path)
    if len(content) < 4 + 4 * axes or content[:4] != bytes([0, 0, UNSIGNED_BYTES, axes]):
        magic = content[:4].hex(" ") or "nothing"
        raise ValueError(f"expected an IDX file of bytes with {axes} axes, got {path}, which begins with {magic}.")
    shape = np.frombuffer(content, ">u4", axes, offset=4).tolist()
    size = len(content) - 4 - 4 * axes
    if size != prod(shape):
        raise ValueError(
            f"expected {prod(shape)} bytes for the shape {tuple(shape)}, got {size} in {path}; get it again."
        )
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _images(folder: str, openml: str, description: str) -> Split:
    names = [f"{folder}/{name}" for pair in FILES.values() for name in pair]
    paths = [path for path in map(find, names) if path is not None]
    if len(paths) < len(names):
        return _download(openml, names, description)
    images, labels, test_images, test_labels = (read_idx(path, 3 if "images" in path.name else 1) for path in paths)
    return Split(_dataset(images, labels, description), _dataset(test_images, test_labels, description))


def _dataset(images: Any, labels: Any, description: str) -> Dataset:
    if len(images) != len(labels):
        raise ValueError(f"expected one label for each image, got {len(images)} images and {len(labels)} labels.")
    X = torch.from_numpy(images.reshape(len(images), -1).astype(np.float32)) / 255
    names = tuple(f"pixel {i}" for i in range(X.shape[1]))
    return Dataset(X, torch.from_numpy(labels.astype(np.float64)), names, description)


def _download(openml: str, names: list[str], description: str) -> Split:
    """From OpenML through scikit-learn, which stores what it downloads in the cache."""
    remedy = (
        "Put the IDX files there, or set GPLENS_DATA to their folder; or, with a network connection, install "
        f"scikit-learn, which downloads {openml!r} from OpenML."
    )
    try:
        from sklearn.datasets import fetch_openml

        table: Any = fetch_openml(openml, version=1, as_frame=False, parser="liac-arff", data_home=str(cache()))
    except (ImportError, OSError) as cause:
        raise missing(names, f"{remedy} ({cause})") from cause
    X, y = table.data.astype(np.float32), table.target.astype(np.float64)
    return Split(_dataset(X[:TRAINING], y[:TRAINING], description), _dataset(X[TRAINING:], y[TRAINING:], description))
