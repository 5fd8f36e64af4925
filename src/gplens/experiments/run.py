"""Experiments, from their names to their folders."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path

from gplens.experiments import folder
from gplens.experiments.progress import Progress
from gplens.experiments.result import Result

EXPERIMENTS = {"table": "table", "bike": "bike", "mnist": "images", "fashion": "images"}
"""The module of each; its `run_NAME(seed, quick, progress)` gives the result."""


def run(folders: Mapping[str, Path], *, seed: int, quick: bool, overwrite: bool) -> None:
    """Compute, write and say where, one experiment after the other; all folders are checked before the first."""
    for output in folders.values():
        folder.check(output, overwrite=overwrite)
    for name, output in folders.items():
        progress = Progress()
        folder.write(output, experiment(name)(seed, quick, progress), overwrite=overwrite)
        progress.say(f"{name} is done: {output / 'README.md'}, {progress.spent}.")


def experiment(name: str) -> Callable[[int, bool, Progress], Result]:
    """By its name."""
    return getattr(import_module(f"gplens.experiments.{EXPERIMENTS[name]}"), f"run_{name}")
