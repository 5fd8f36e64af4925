"""Hourly bike rentals in Washington, D.C."""

import csv
import gzip
from datetime import datetime
from importlib import resources

import numpy as np
import torch

from gplens.datasets.dataset import Dataset, find, missing, read

DESCRIPTION = """Bikes rented in each of 8,645 hours of 2011 in Washington, D.C. (UCI Bike Sharing, Fanaee-T and Gama
2013, CC BY 4.0): temperature in degrees Celsius, humidity in percent, wind speed up to 67; weekday 0 is a Sunday;
weather 1 clear, 2 mist, 3 light rain or snow, 4 heavy rain or snow."""
KAGGLE = "bike-sharing/train.csv"
"""Kaggle's table, as a path inside the folder that GPLENS_DATA names."""
NAMES = "month day_of_year hour weekday holiday working_day weather temperature humidity wind_speed"


def bike_sharing(*, kaggle: bool | None = None) -> Dataset:
    """Ten features of each hour, and the number of bikes rented.

    Args:
        kaggle: False reads the hours of 2011 that come with the package. True reads the table that the paper used, the
            first 19 days of each month of 2011 and 2012: bike-sharing/train.csv in the folder that GPLENS_DATA names.
            None reads that table where it exists, else the hours of 2011.

    Raises:
        FileNotFoundError: Kaggle's table was asked for and is not there.
        ValueError: the file is another table.

    Returns:
        A Dataset of hours: `X`, `y`, `feature_names`.

    Example:
        >>> gplens.datasets.bike_sharing(kaggle=False).X.shape
        torch.Size([8645, 10])
    """
    path = None if kaggle is False else find(KAGGLE)
    if path is not None:
        return _read_kaggle(read(path).decode(), str(path))
    if kaggle:
        raise missing([KAGGLE], "Put train.csv of Kaggle's Bike Sharing Demand there.")
    packed = resources.files("gplens.datasets").joinpath("bike_sharing_2011.csv.gz").read_bytes()
    header, *lines = gzip.decompress(packed).decode().splitlines()
    table = torch.tensor(np.loadtxt(lines, delimiter=","))
    return Dataset(table[:, :-1], table[:, -1], tuple(header.split(",")[:-1]), DESCRIPTION)


def _read_kaggle(text: str, path: str) -> Dataset:
    try:
        table = torch.tensor([_row(line) for line in csv.DictReader(text.splitlines())], dtype=torch.float64)
    except (KeyError, ValueError) as cause:
        raise ValueError(
            f"expected Kaggle's table of bike rentals, got another table in {path} ({cause!r})."
        ) from cause
    description = DESCRIPTION.replace("8,645 hours of 2011", f"{len(table):,} hours of 2011 and 2012")
    return Dataset(table[:, :-1], table[:, -1], tuple(NAMES.split()), description)


def _row(line: dict[str, str]) -> list[float]:
    """One hour in the columns of the embedded table. Python's weeks begin on a Monday."""
    at = datetime.fromisoformat(line["datetime"])
    calendar = at.month, at.timetuple().tm_yday, at.hour, (at.weekday() + 1) % 7
    columns = "holiday workingday weather temp humidity windspeed count"
    return [*map(float, calendar), *(float(line[name]) for name in columns.split())]
