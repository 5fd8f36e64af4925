"""`gplens reproduce EXPERIMENT`: run an experiment of the paper and write a folder of results."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gplens.adapters.hosts import Extra
from gplens.cli.interruption import interruptible
from gplens.cli.shared_arguments import FLAG

EXPERIMENTS = {
    "table": "completeness gaps on synthetic data (Figure 1)",
    "bike": "one hour of bike rentals, with error bars (section 5.2)",
    "mnist": "heat maps and ablation of ten digits, metrics of 200 (section 5.2, appendix E.2)",
    "fashion": "the same of articles of clothing",
}
"""What each experiment shows."""


class Experiment(StrEnum):
    """EXPERIMENTS, and all of them."""

    table = "table"
    bike = "bike"
    mnist = "mnist"
    fashion = "fashion"
    all = "all"


EPILOG = "\n\n".join(
    [
        "Experiments:",
        *(f"    {name}: {shows}" for name, shows in EXPERIMENTS.items()),
        "    all: each in a folder of its own",
    ]
)


def add(app: typer.Typer) -> None:
    """Add `gplens reproduce` to the application."""
    app.command("reproduce", epilog=EPILOG)(interruptible(reproduce))


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(metavar="EXPERIMENT", help="What to run; see below.")],
    output: Annotated[
        Path | None, typer.Option(help="Folder to write; reproduced/EXPERIMENT if left out.", metavar="FOLDER")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", metavar=FLAG, help="Replace the folder of an earlier run.")
    ] = False,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of data, fits and orders.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", metavar=FLAG, help="Run a small version, whose fits are poor.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", min=1, max=2, help="With `all`: experiments with images that run at the same time."
        ),
    ] = None,
) -> None:
    """Run an experiment of the paper and write a folder of results."""
    everything = experiment.value == "all"
    if jobs is not None and not everything:
        raise typer.BadParameter("--jobs goes with the experiment `all`.")
    with Extra("reproduce", "the experiments"):
        from gplens.experiments.run import run
    folder = output or (Path("reproduced") if everything else Path("reproduced", experiment.value))
    folders = {name: folder / name for name in EXPERIMENTS} if everything else {experiment.value: folder}
    workers = jobs or (min(2, os.cpu_count() or 1) if everything else 1)
    run(folders, seed=seed, quick=quick, overwrite=overwrite, jobs=workers)
