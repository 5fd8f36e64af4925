"""The README's first example runs, is short, and prints what it says."""

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()
CODE, OUTPUT = re.findall(r"```(?:python|text)\n(.*?)```", README, flags=re.DOTALL)[:2]
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def test_first_example_has_at_most_eight_lines() -> None:
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 8


def test_first_example_prints_what_the_readme_shows() -> None:
    """Every word, and every number to the digits shown; gap and error, which depend on rounding, to their smallness."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(CODE, {})
    ours, shown = printed.getvalue().splitlines(), OUTPUT.splitlines()
    assert ours[:-1] == shown[:-1]
    (gap, error, nodes), shown_numbers = ([float(n) for n in NUMBER.findall(line)] for line in (ours[-1], shown[-1]))
    assert NUMBER.sub("#", ours[-1]) == NUMBER.sub("#", shown[-1])
    assert gap < 1e-7
    assert error < 1e-4
    assert nodes == shown_numbers[2]
