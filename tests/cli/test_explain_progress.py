"""Progress in rows: the rate of this run, and the time that is left at this rate."""

from collections.abc import Callable

import pytest

from gplens.cli import console

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that goes on when it is told to."""
    time = [1000.0]
    monkeypatch.setattr(console, "monotonic", lambda: time[0])
    return lambda seconds: time.__setitem__(0, time[0] + seconds)


def test_lines_have_the_time_left(clock: Callable[[float], None], capsys: Capture) -> None:
    """200 rows were done before. 100 rows in 20 seconds are 5 per second, so that 700 more take 140 seconds."""
    with console.progress_in_rows("explaining", 1000) as progress:
        progress.advance(200, True)
        clock(20.0)
        progress.advance(100, False)
        assert progress.left == pytest.approx(140)
        clock(5.0)
        progress.advance(1, False)
    said = capsys.readouterr().err
    assert said.splitlines() == ["300 of about 1,000 rows, 5 rows/s, about 0:02:20 left"], "a line every ten seconds"
