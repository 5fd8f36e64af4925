"""The model for the options of `gplens fit`: the columns, the likelihood and the estimator."""

from collections.abc import Sequence
from dataclasses import dataclass
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
                raise ValueError(f"expected a column of {list(names)}, got {name!r}.")
        return [name for name in names if name != self.target and name not in self.drop]

    def estimator(self, table: Any) -> tuple[Any, str]:
        """The estimator for a table, a sentence on why it was chosen, and the name of its score."""
        from gplens.cli.likelihood_choice import SCORES, choose

        names = [name for name in table.column_names if name != self.target]
        kinds = columns_of(self.columns, names)
        _check_numbers(table, [name for name in names if name not in kinds])
        choice = choose(table[self.target])
        if self.likelihood is not None and self.likelihood not in SCORES:
            raise ValueError(f"expected a likelihood of {list(SCORES)}, got {self.likelihood!r}.")
        chosen = self.likelihood or choice.likelihood
        if self.likelihood is None:
            say(f"likelihood: {chosen}, because {choice.reason}; --likelihood decides otherwise.")
        size = {} if self.inducing_points is None else {"inducing_points": self.inducing_points}
        return _estimator(chosen, columns=kinds or None, random_state=self.seed, **size), SCORES[chosen]


def _check_numbers(table: Any, names: list[str]) -> None:
    """Refuse a text in a column of numbers, with its row."""
    from pyarrow import types

    for name in names:
        if not types.is_string(table[name].type):
            continue
        entries = [(row, text) for row, text in enumerate(table[name].to_pylist()) if text is not None]
        texts = [(row, text) for row, text in entries if not _is_number(text)]
        if texts and len(texts) <= (1 - MOSTLY) * len(entries):
            row, text = texts[0]
            raise ValueError(
                f"expected numbers in column {name!r}, as in {len(entries) - len(texts):,} of its {len(entries):,} "
                f"entries, got {text!r} in row {row} (the first row is 0); correct it, or add --columns "
                f"{name}=category."
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
