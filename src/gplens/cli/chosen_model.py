"""The model for the options of `gplens fit`: the columns, the likelihood and the estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, final

from gplens.cli.column_settings import columns_of
from gplens.cli.console import say

MOSTLY = 0.9
"""A column of texts is taken for numbers with mistakes if at least this share of its entries are numbers."""


@final
@dataclass(frozen=True)
class Chosen:
    """The options of the command that concern the model."""

    target: str
    likelihood: str | None
    columns: tuple[str, ...]
    drop: tuple[str, ...]
    inducing_points: int | None
    seed: int

    def features(self, names: Sequence[str]) -> list[str]:
        """The columns to predict from, after a check that all named columns exist."""
        for name in (self.target, *self.drop):
            if name not in names:
                near = get_close_matches(name, names, n=1)
                remedy = f"write {near[0]!r}" if near else "write one of these"
                raise ValueError(f"expected a column of {list(names)}, got {name!r}; {remedy}.")
        return [name for name in names if name != self.target and name not in self.drop]

    def estimator(self, table: Any) -> tuple[Any, str]:
        """The estimator for a table, a sentence on why it was chosen, and the name of its score."""
        from gplens.cli.likelihood_choice import SCORES, choose

        names = [name for name in table.column_names if name != self.target]
        kinds = columns_of(self.columns, names)
        choice = choose(table[self.target])
        chosen = self.likelihood or choice.likelihood
        self._check_target(table[self.target], chosen)
        if self.likelihood is None:
            say(f"likelihood: {chosen}, because {choice.reason}; --likelihood decides otherwise.")
        size = {} if self.inducing_points is None else {"inducing_points": self.inducing_points}
        return _estimator(chosen, columns=kinds or None, random_state=self.seed, **size), SCORES[chosen]

    def check_numbers(self, table: Any) -> None:
        """Refuse a text in a column of numbers, with its row. The table has all rows of the file."""
        kinds = columns_of(self.columns, [name for name in table.column_names if name != self.target])
        for name in table.column_names:
            if name == self.target and self.likelihood != "classes":
                share = MOSTLY if self.likelihood is None else 0.0
                _check_column(table[name], name, share, "--likelihood classes")
            elif name != self.target and name not in kinds:
                _check_column(table[name], name, MOSTLY, f"--columns {name}=category")

    def _check_target(self, entries: Any, chosen: str) -> None:
        """Refuse one class, and texts that hardly repeat unless the line says that they are classes."""
        different, rows = len(entries.unique()), len(entries)
        if chosen == "classes" and different < 2:
            raise ValueError(
                f"expected two or more different entries in the target {self.target!r}, got {entries[0].as_py()!r} in "
                f"all {rows:,} rows; choose another --target."
            )
        if chosen == "classes" and self.likelihood is None and 2 * different > rows:
            raise ValueError(
                f"expected a target with repeated entries, or numbers, got {different:,} different texts in the "
                f"{rows:,} rows of {self.target!r}; choose another --target, or add --likelihood classes."
            )


def _check_column(entries: Any, name: str, mostly: float, remedy: str) -> None:
    """Refuse a text in a column at least this share of which are numbers."""
    from pyarrow import types

    if not types.is_string(entries.type):
        return
    given = [(row, text) for row, text in enumerate(entries.to_pylist()) if text is not None]
    texts = [(row, text) for row, text in given if not _is_number(text)]
    if texts and len(texts) <= (1 - mostly) * len(given):
        row, text = texts[0]
        raise ValueError(
            f"expected numbers in column {name!r}, as in {len(given) - len(texts):,} of its {len(given):,} entries, "
            f"got {text!r} in row {row} (the first row is 0); correct it, or add {remedy}."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _estimator(likelihood: str, **options: Any) -> Any:
    from gplens.estimators import GPClassifier, GPCountRegressor, GPRegressor

    return {"gaussian": GPRegressor, "counts": GPCountRegressor, "classes": GPClassifier}[likelihood](**options)
