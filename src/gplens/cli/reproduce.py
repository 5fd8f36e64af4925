"""`gplens reproduce EXPERIMENT`: run an experiment of the paper and write a folder of results."""

import argparse
import os
from pathlib import Path
from typing import Any

from gplens.adapters.hosts import Extra

EXPERIMENTS = {
    "table": "completeness gaps on synthetic data (Figure 1)",
    "bike": "one hour of bike rentals, with error bars (section 5.2)",
    "mnist": "heat maps and ablation of ten digits, metrics of 200 (section 5.2, appendix E.2)",
    "fashion": "the same of articles of clothing",
}
"""What each experiment shows."""


def add(commands: Any) -> None:
    """Add the command with its experiments."""
    description = "Run an experiment of the paper and write a folder of results."
    reproduce = commands.add_parser("reproduce", help="run the experiments of the paper", description=description)
    experiments = reproduce.add_subparsers(title="experiments", metavar="EXPERIMENT", required=True)
    for name, shows in {**EXPERIMENTS, "all": "all four, each in a folder of its own"}.items():
        parser = experiments.add_parser(name, help=shows, description=f"{shows[0].upper()}{shows[1:]}.")
        _add_options(parser, name)


def _add_options(parser: argparse.ArgumentParser, name: str) -> None:
    folder = Path("reproduced") if name == "all" else Path("reproduced", name)
    parser.add_argument(
        "--output", type=Path, default=folder, metavar="FOLDER", help="folder to write (default: %(default)s)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the folder of an earlier run")
    parser.add_argument("--seed", type=int, default=0, help="seed of data, fits and orders (default: %(default)s)")
    parser.add_argument("--quick", action="store_true", help="run a small version, whose fits are poor")
    if name == "all":
        does = (
            "experiments with images that run at the same time, each on its share of the cores (default: %(default)s)"
        )
        parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), choices=(1, 2), help=does)
    parser.set_defaults(run=_run, experiment=name)


def _run(options: argparse.Namespace) -> None:
    with Extra("reproduce", "the experiments"):
        from gplens.experiments.run import run
    folders = {options.experiment: options.output}
    if options.experiment == "all":
        folders = {name: options.output / name for name in EXPERIMENTS}
    jobs = getattr(options, "jobs", 1)
    run(folders, seed=options.seed, quick=options.quick, overwrite=options.overwrite, jobs=jobs)
