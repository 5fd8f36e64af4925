"""MNIST and Fashion-MNIST: IDX files in GPLENS_DATA, then in the cache, then OpenML. And scikit-learn's digits."""

from typing import Any

import numpy as np
import torch

from gplens.datasets.dataset import Dataset, Split
from gplens.datasets.idx import read_idx
from gplens.datasets.places import cache, find, missing

FILES = {"train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")}
FILES["test"] = ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
TRAINING = 60_000
"""Rows of the official training set, which come first in OpenML's tables."""


def mnist() -> Split:
    """Handwritten digits: 60,000 and 10,000 images of 28 x 28 pixels from 0 to 1 (LeCun, Cortes and Burges)."""
    return _images("mnist", "mnist_784", "MNIST: handwritten digits, pixels from 0 to 1 (LeCun, Cortes and Burges).")


def fashion_mnist() -> Split:
    """Articles of clothing, in the same format (Xiao, Rasul and Vollgraf 2017, MIT licence)."""
    return _images(
        "fashion-mnist", "Fashion-MNIST", "Fashion-MNIST: articles of clothing, pixels from 0 to 1 (Xiao et al. 2017)."
    )


def digits() -> Dataset:
    """1,797 digits of 8 x 8 pixels from 0 to 16, which come with scikit-learn."""
    from sklearn.datasets import load_digits

    bunch: Any = load_digits()
    X, y = (torch.from_numpy(bunch[part].astype(np.float64)) for part in ("data", "target"))
    return Dataset(X, y, tuple(bunch.feature_names), "Digits of 8 x 8 pixels from 0 to 16 (UCI, scikit-learn).")


def _images(folder: str, openml: str, description: str) -> Split:
    names = [f"{folder}/{name}" for pair in FILES.values() for name in pair]
    found = [find(name) for name in names]
    if None in found:
        return _download(openml, names, description)
    images, labels, test_images, test_labels = (
        read_idx(path, 3 if "images" in path.name else 1) for path in found if path is not None
    )
    return Split(_dataset(images, labels, description), _dataset(test_images, test_labels, description))


def _dataset(images: Any, labels: Any, description: str) -> Dataset:
    if len(images) != len(labels):
        raise ValueError(f"{len(images)} images and {len(labels)} labels do not belong together.")
    X = torch.from_numpy(images.reshape(len(images), -1).astype(np.float32)) / 255
    names = tuple(f"pixel {i}" for i in range(X.shape[1]))
    return Dataset(X, torch.from_numpy(labels.astype(np.float64)), names, description)


def _download(openml: str, names: list[str], description: str) -> Split:
    """From OpenML through scikit-learn, which keeps what it fetched in the cache."""
    how = (
        f"Put the IDX files there, or set GPLENS_DATA to their folder; or, with a network, install scikit-learn, which "
        f"fetches {openml!r} from OpenML."
    )
    try:
        from sklearn.datasets import fetch_openml

        table: Any = fetch_openml(openml, version=1, as_frame=False, parser="liac-arff", data_home=str(cache()))
    except (ImportError, OSError) as cause:
        raise missing(names, f"{how} ({cause})") from cause
    X, y = table.data.astype(np.float32), table.target.astype(np.float64)
    return Split(_dataset(X[:TRAINING], y[:TRAINING], description), _dataset(X[TRAINING:], y[TRAINING:], description))
