"""Hourly bike rentals in Washington, D.C."""

import gzip
from importlib import resources

import numpy as np
import torch

from gplens.datasets.dataset import Dataset

DESCRIPTION = """Bikes rented in each of 8,645 hours of 2011 in Washington, D.C. (UCI Bike Sharing, Fanaee-T and Gama
2013, CC BY 4.0): temperature in degrees Celsius, humidity in percent, wind speed up to 67; weekday 0 is a Sunday;
weather 1 clear, 2 mist, 3 light rain or snow, 4 heavy rain or snow."""


def bike_sharing() -> Dataset:
    """The hours of 2011, as they come with the package: ten features, and the count of bikes rented."""
    packed = resources.files("gplens.datasets").joinpath("bike_sharing_2011.csv.gz").read_bytes()
    header, *lines = gzip.decompress(packed).decode().splitlines()
    table = torch.tensor(np.loadtxt(lines, delimiter=","))
    return Dataset(table[:, :-1], table[:, -1], tuple(header.split(",")[:-1]), DESCRIPTION)
