"""Make src/gplens/datasets/bike_sharing_2011.csv.gz from the Bikeshare table of the PyPI package ISLP.

    pip install --no-deps ISLP && python scripts/embed_bike_sharing.py path/to/ISLP/data/Bikeshare.csv

The table holds the hours of 2011 of the UCI Bike Sharing data set (Fanaee-T and Gama, 2013; CC BY 4.0), with
temperature, humidity and wind speed divided by 41 C, 100 % and 67. Here they are back in those units.
"""

import csv
import gzip
import sys
from pathlib import Path

MONTHS = ["Jan", "Feb", "March", "April", "May", "June", "July", "Aug", "Sept", "Oct", "Nov", "Dec"]
WEATHER = {"clear": 1, "cloudy/misty": 2, "light rain/snow": 3, "heavy rain/snow": 4}
TARGET = Path(__file__).parents[1] / "src" / "gplens" / "datasets" / "bike_sharing_2011.csv.gz"


def row(source: dict[str, str]) -> list[object]:
    return [
        MONTHS.index(source["mnth"]) + 1,
        source["day"],
        source["hr"],
        source["weekday"],
        source["holiday"],
        source["workingday"],
        WEATHER[source["weathersit"]],
        round(41 * float(source["temp"]), 2),
        round(100 * float(source["hum"])),
        round(67 * float(source["windspeed"]), 4),
        source["bikers"],
    ]


def main(path: str) -> None:
    names = "month day_of_year hour weekday holiday working_day weather temperature humidity wind_speed count"
    with open(path, newline="") as file:
        rows = [row(source) for source in csv.DictReader(file)]
    with open(TARGET, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        lines = [names.split(), *rows]
        packed.write("".join(",".join(map(str, line)) + "\n" for line in lines).encode())


if __name__ == "__main__":
    main(sys.argv[1])
