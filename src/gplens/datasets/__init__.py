"""Datasets that come with the package, are found on disk, or are downloaded."""

from gplens.datasets.bikes import bike_sharing
from gplens.datasets.dataset import Dataset, Split
from gplens.datasets.images import digits, fashion_mnist, mnist
from gplens.datasets.synthetic import synthetic

__all__ = ["Dataset", "Split", "bike_sharing", "digits", "fashion_mnist", "mnist", "synthetic"]
