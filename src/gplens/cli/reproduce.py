"""`gplens reproduce`: the experiments of the paper, one folder of results each."""

import argparse
from pathlib import Path
from typing import Any

EXPERIMENTS = {
    "table": "completeness gaps on synthetic data (Figure 1)",
    "bike": "one hour of bike rentals, with error bars (section 5.2)",
    "mnist": "heat maps and ablation of ten digits, metrics of 200 (section 5.2, appendix E.2)",
    "fashion": "the same of articles of clothing",
}
"""What each of them shows."""


def add(commands: Any) -> None:
    """`reproduce table`, `bike`, `mnist`, `fashion` and `all`."""
    own = commands.add_parser("reproduce", help="run the experiments of the paper", description=__doc__)
    which = own.add_subparsers(title="experiments", metavar="EXPERIMENT", required=True)
    for name, shows in {**EXPERIMENTS, "all": "all four, in folders of their own"}.items():
        one = which.add_parser(name, help=shows, description=f"{shows[0].upper()}{shows[1:]}.")
        _add_options(one, name)


def _add_options(one: argparse.ArgumentParser, name: str) -> None:
    folder = Path("reproduced") if name == "all" else Path("reproduced", name)
    one.add_argument("--output", type=Path, default=folder, metavar="FOLDER", help="written at the end (%(default)s)")
    one.add_argument("--overwrite", action="store_true", help="replace the folder of an earlier run")
    one.add_argument("--seed", type=int, default=0, help="of data, fits and orders (%(default)s)")
    one.add_argument("--quick", action="store_true", help="a small version, to see what comes out; its fits are poor")
    one.set_defaults(run=_run, experiment=name)


def _run(options: argparse.Namespace) -> None:
    try:
        from gplens.experiments.run import run
    except ModuleNotFoundError as cause:
        raise ImportError(f'The experiments need {cause.name}: pip install "gplens[reproduce]".') from cause
    every = options.experiment == "all"
    folders = {name: options.output / name for name in EXPERIMENTS} if every else {options.experiment: options.output}
    run(folders, seed=options.seed, quick=options.quick, overwrite=options.overwrite)
