"""`gplens demo`: pictures and a page that it names, and a table and a model to go on with."""

import re
from pathlib import Path

import pytest

from gplens.cli import demo_command
from gplens.cli.main import main
from gplens.datasets import bike_sharing


@pytest.mark.slow
def test_the_demo_writes_what_it_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--out", str(tmp_path / "demo")]) == 0
    shown = capsys.readouterr().out
    pictures = [Path(name) for name in re.findall(r"^  (\S+\.png):", shown, re.MULTILINE)]
    assert len(pictures) == 5
    assert all(picture.read_bytes().startswith(b"\x89PNG") for picture in pictures)
    assert shown.count("+-") >= 3 * 7  # every attribution of three hours has its error bar
    assert sorted(path.name for path in (tmp_path / "demo").iterdir() if path.suffix != ".png") == [
        "bikes.csv",
        "bikes.html",
        "model",
    ]
    assert shown.rstrip().endswith(str(tmp_path / "demo" / "bikes.html"))


def test_the_hours_are_those_that_their_titles_say() -> None:
    data = bike_sharing(kaggle=False)
    for row, title in (demo_command.TYPICAL, *demo_command.HOURS.values()):
        clock = re.search(r"(\d+):00", title)
        assert clock is not None
        assert int(data.column("hour")[row]) == int(clock.group(1))
        day = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
        assert title.startswith(day[int(data.column("weekday")[row])])
        assert ("rain" in title) == bool(data.column("weather")[row] >= 3)
        assert ("clear" in title) <= bool(data.column("weather")[row] == 1)
