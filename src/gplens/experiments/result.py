"""What an experiment gives: a page, tables, figures, settings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import pandas
from matplotlib.figure import Figure


@final
@dataclass(frozen=True, eq=False)
class Result:
    """Everything that goes into the folder of an experiment."""

    page: str
    """Markdown; it refers to figures and tables by their file names."""
    tables: Mapping[str, pandas.DataFrame]
    """Every number, by the name of its CSV file."""
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By the name of their PNG file."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the numbers depend on, beside the versions."""


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a page."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
