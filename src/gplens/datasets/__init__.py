"""Data that comes with the package."""

from gplens.datasets.bike import bike_sharing
from gplens.datasets.dataset import Dataset

__all__ = ["Dataset", "bike_sharing"]
