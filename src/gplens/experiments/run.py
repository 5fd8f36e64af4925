"""Run experiments by their names, with messages on standard error, and write their folders."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TypeVar, final

from tqdm import tqdm

from gplens.experiments.report import Report, check_folder, write_folder

T = TypeVar("T")
EXPERIMENTS = {
    "table": "completeness_experiment",
    "bike": "bike_experiment",
    "mnist": "image_experiment",
    "fashion": "image_experiment",
}
"""The module of each experiment, whose `run_NAME(seed, quick, messages)` returns the report."""


@final
class Messages:
    """Messages of a long run: a line for each stage with the time since the start, and a bar within a stage."""

    def __init__(self, *, show: bool = True) -> None:
        self.show, self.began = show, perf_counter()

    def say(self, stage: str) -> None:
        """Print what is done next, or has been done."""
        if self.show:
            print(f"{perf_counter() - self.began:6.0f} s  {stage}", file=sys.stderr, flush=True)

    def each(self, items: Iterable[T], label: str, count: int | None = None) -> Iterator[T]:
        """Iterate with a progress bar on a terminal; `count` is for items without a length."""
        disable = None if self.show else True  # None makes tqdm look for a terminal
        yield from tqdm(items, total=count, desc=f"{'':8} {label}", disable=disable, leave=False)

    @property
    def spent(self) -> str:
        """The time since the start, such as "12 s"."""
        return f"{perf_counter() - self.began:.0f} s"


def run(folders: Mapping[str, Path], *, seed: int, quick: bool, overwrite: bool) -> None:
    """Run experiments one after the other and write their folders; all folders are checked before the first run."""
    for output in folders.values():
        check_folder(output, overwrite=overwrite)
    for name, output in folders.items():
        messages = Messages()
        write_folder(output, experiment(name)(seed, quick, messages), overwrite=overwrite)
        messages.say(f"{name} is done: {output / 'README.md'}, {messages.spent}.")


def experiment(name: str) -> Callable[[int, bool, Messages], Report]:
    """The function that runs an experiment."""
    return getattr(import_module(f"gplens.experiments.{EXPERIMENTS[name]}"), f"run_{name}")
