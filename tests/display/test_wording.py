"""Numbers and names as people read them."""

from dataclasses import dataclass

import pytest

from gplens.display.wording import (
    aligned,
    baseline_text,
    decimals,
    elided,
    entry_text,
    number,
    target_text,
    told_apart,
    with_deviation,
    with_values,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2011.0, "2011"),
        (12345.6, "12,346"),
        (-1234567.0, "−1,234,567"),
        (0.05, "0.05"),
        (-0.000123, "−0.000123"),
        (0.9996, "1"),
        (12.0, "12"),
        (100.0, "100"),
        (3.2e-7, "3.2e−7"),
        (4e12, "4e12"),
    ],
)
def test_numbers_have_three_digits_or_more(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_of_a_column_have_the_same_decimals() -> None:
    places = decimals(39.24)
    assert [aligned(value, places, sign=True) for value in (39.24, -5.06, 0.0)] == ["+39.2", "−5.1", "0"]
    assert aligned(0.0004, places, sign=True) == "+0.0004"  # not zero
    assert decimals(0.0) == 0
    assert with_deviation(39.24, 5.13, places) == "+39.2 ± 5.1"
    assert with_deviation(39.24, None, places) == with_deviation(39.24, float("nan"), places) == "+39.2"
    assert with_deviation(3e-9, 1e-9, decimals(3e-9)) == "+3e−9 ± 1e−9"


def test_long_names_keep_both_ends() -> None:
    assert elided("hour") == "hour"
    short = elided("the expression of a gene in cells of type B", 20)
    assert len(short) == 20
    assert short.startswith("the expr")
    assert short.endswith("type B")
    assert elided("two\nlines") == "two lines"


def test_names_that_would_look_the_same_are_told_apart() -> None:
    names = [f"the expression of gene {i} in cells of the very same type" for i in (17, 18, 4711)]
    short = told_apart(names, 30)
    assert len(set(short)) == 3
    assert all(len(name) <= 30 for name in short)
    assert "17" in short[0]
    assert told_apart(["a", "b"]) == ["a", "b"]


def test_values_stand_beside_names() -> None:
    assert with_values("hour", entry_text(None, 9.0), entry_text(None, 12.0)) == "hour: 12 → 9"
    assert with_values("hour", "9", "9") == with_values("hour", "9", None) == "hour = 9"
    assert with_values("weather", entry_text(None, float("nan")), "1") == "weather"
    assert with_values("town", entry_text("OldTown", float("nan")), entry_text("Hill", 1.0)) == "town: Hill → OldTown"
    assert with_values("sold", entry_text("2019-01-07", 1.5e9), None) == "sold = 2019-01-07"


def test_shares_of_categories_are_not_cut_within_a_number() -> None:
    nan = float("nan")
    assert entry_text("60 % manual, 40 % other", nan) == "60 % manual, 40 % other"
    assert entry_text("59.4 % automatic, 40.6 % manual", nan) == "59.4 % automatic, …"
    assert entry_text("50 % red, 30 % blue, 15 % green, 5 % white", nan) == "50 % red, 30 % blue, …"
    assert len(str(entry_text("90 % a category with a very long name indeed, 10 % other", nan))) <= 30


@dataclass
class Source:
    target: str
    model: str = "GPClassifier"
    output: str | None = None


def test_targets_are_called_by_their_names() -> None:
    assert target_text(Source("Response()"), None) == "prediction of GPClassifier"
    assert target_text(Source("Response()"), "setosa") == "prediction of GPClassifier, setosa"
    assert target_text(Source("Response()", output="P(y = 1)"), None) == "prediction of GPClassifier, P(y = 1)"
    contrast = Source("Response(), setosa rather than virginica,")
    assert target_text(contrast, None) == "prediction of GPClassifier, setosa rather than virginica"
    assert target_text(Source("Exceeds(threshold=3)"), None) == "Exceeds(threshold=3) of GPClassifier"


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("Mean(X with 8645 rows)", "the mean of 8,645 rows"),
        ("Sample(X with 1200 rows)", "the average over a background of 1,200 rows"),
        ("Zeros()", "zeros"),
        ("Fixed(0)", "an input of 0 in every feature"),
        ("Fixed(1, 2)", "a given baseline"),
        ("Fixed(shape (5, 4))", "a given baseline"),
        ("Sample(X with 20 rows, weighted)", "the average over a background of 20 rows"),
        ("Medoid(X with 3 rows)", "the most central of 3 rows"),
        ("Rows(X0 with 3 rows)", "a row for each input"),
        ("Incumbent(row 15 of 1700, the largest y)", "row 15, the largest outcome of 1,700"),
        ("Other(X with 3 rows)", "Other(X with 3 rows)"),
    ],
)
def test_baselines_are_called_by_what_they_are(written: str, called: str) -> None:
    assert baseline_text(written) == called
