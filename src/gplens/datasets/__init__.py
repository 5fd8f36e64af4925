"""Data that comes with the package, or is found or fetched."""

from gplens.datasets.bike import bike_sharing
from gplens.datasets.dataset import Dataset, Split
from gplens.datasets.images import digits, fashion_mnist, mnist
from gplens.datasets.synthetic import synthetic

__all__ = ["Dataset", "Split", "bike_sharing", "digits", "fashion_mnist", "mnist", "synthetic"]
