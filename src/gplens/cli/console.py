"""The output of commands: results on standard output, progress and remarks on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

PAUSE = 10.0
"""Seconds between two lines of progress if standard error is not a terminal."""


def say(text: str) -> None:
    """Print a result on standard output."""
    Console(highlight=False, soft_wrap=True, markup=False).print(text)


def remark(text: str) -> None:
    """Print what is being done on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True, markup=False).print(text)


def show_table(title: str, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    """Print a table on standard output, with the second column (pass or FAIL) in colour."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in header:
        table.add_column(name, overflow="fold")
    colours = {"pass": "[green]pass[/]", "FAIL": "[bold red]FAIL[/]"}
    for first, second, *rest in rows:
        table.add_row(first, colours.get(second, second), *rest)
    Console(highlight=False).print(table)


def rounded(rate: float) -> str:
    """A rate with two digits or more."""
    return f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"


@final
class RowProgress:
    """Progress in rows: a bar with rows per second on a terminal, else a line every few seconds."""

    def __init__(self, progress: Progress, task: TaskID, total: int) -> None:
        self.progress, self.task, self.total = progress, task, total
        self.done = self.fresh = 0
        self.began = self.said = monotonic()

    @property
    def rate(self) -> float:
        """Rows of this run per second."""
        return self.fresh / max(monotonic() - self.began, 1e-9)

    def advance(self, count: int, resumed: bool) -> None:
        """Count further finished rows, of this run or of an earlier one."""
        self.done += count
        self.fresh += 0 if resumed else count
        rate = f"{rounded(self.rate)} rows/s" if self.fresh else ""
        self.progress.update(self.task, completed=self.done, total=max(self.total, self.done), rate=rate)
        if not self.progress.console.is_terminal and monotonic() - self.said > PAUSE:
            self.said = monotonic()
            left = "" if not self.fresh else f", about {timedelta(seconds=round(self.left))} left"
            remark(f"{self.done:,} of about {self.total:,} rows, {rate}{left}")

    @property
    def left(self) -> float:
        """Seconds until all rows are done, at the rate so far."""
        return max(self.total - self.done, 0) / self.rate


@contextmanager
def progress_in_rows(label: str, total: int) -> Iterator[RowProgress]:
    """A progress bar on standard error while the block runs."""
    console = Console(stderr=True)
    bar = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    quiet = not console.is_terminal  # the bar vanishes at the end, and the command prints a summary
    with Progress(*bar, TimeRemainingColumn(), console=console, disable=quiet, transient=True) as progress:
        yield RowProgress(progress, progress.add_task(label, total=total, rate=""), total)
