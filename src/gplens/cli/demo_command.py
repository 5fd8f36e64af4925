"""`gplens demo`: a model of a year of bike rentals, three hours explained, and their pictures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gplens.cli.console import remark, say
from gplens.cli.interruption import interruptible

HOURS = {
    "rush_hour": (6603, "Friday, 7 October 2011, 17:00, clear and warm"),
    "night": (4010, ""),
    "rain": (0, ""),
}


def add(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(interruptible(demo))
