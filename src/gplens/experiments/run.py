"""Run experiments by their names, with messages on standard error, and write their folders."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import TypeVar, final

from joblib import Parallel, delayed
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
TOGETHER = ("mnist", "fashion")
"""Experiments that may run at the same time, each in a process of its own with its share of the cores."""


@final
class Messages:
    """Messages of a long run: a line for each stage with the time since the start, and a bar within a stage.

    With a `name`, as for experiments that run at the same time, lines begin with it and there are no bars.
    """

    def __init__(self, *, show: bool = True, name: str | None = None) -> None:
        self.show, self.name, self.began = show, name, perf_counter()

    def say(self, stage: str) -> None:
        """Print a stage of the work, with the time since the start."""
        if self.show:
            said = stage if self.name is None else f"{self.name}: {stage}"
            print(f"{perf_counter() - self.began:6.0f} s  {said}", file=sys.stderr, flush=True)

    def each(self, items: Iterable[T], label: str, count: int | None = None) -> Iterator[T]:
        """Iterate with a progress bar on a terminal; `count` is for items without a length."""
        disable = None if self.show and self.name is None else True  # None makes tqdm look for a terminal
        yield from tqdm(items, total=count, desc=f"{'':8} {label}", disable=disable, leave=False)

    @property
    def spent(self) -> str:
        """The time since the start, such as "12 s"."""
        return f"{perf_counter() - self.began:.0f} s"


def run(folders: Mapping[str, Path], *, seed: int, quick: bool, overwrite: bool, jobs: int = 1) -> None:
    """Run experiments and write their folders; all folders are checked before the first run.

    They run one after the other, with the exception of those in TOGETHER, of which `jobs` run at the same time.
    """
    for output in folders.values():
        check_folder(output, overwrite=overwrite)
    together = [name for name in folders if name in TOGETHER and jobs > 1]
    options = seed, quick, overwrite
    for name, output in folders.items():
        if name not in together:
            _run(experiment(name), None, output, *options)
    Parallel(n_jobs=jobs)(delayed(_run)(experiment(name), name, folders[name], *options) for name in together)


def _run(
    work: Callable[[int, bool, Messages], Report],
    name: str | None,
    output: Path,
    seed: int,
    quick: bool,
    overwrite: bool,
) -> None:
    messages = Messages(name=name)
    write_folder(output, work(seed, quick, messages), overwrite=overwrite)
    messages.say(f"done: {output / 'README.md'}, {messages.spent}.")


def experiment(name: str) -> Callable[[int, bool, Messages], Report]:
    """The function that runs an experiment."""
    return getattr(import_module(f"gplens.experiments.{EXPERIMENTS[name]}"), f"run_{name}")
