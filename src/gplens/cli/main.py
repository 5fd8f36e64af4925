"""The command line: `gplens COMMAND`."""

import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

from gplens import __version__
from gplens.adapters.hosts import Extra
from gplens.cli.interruption import InterruptedRunError, sentence

PROBLEMS = (OSError, ValueError, TypeError, ImportError, ArithmeticError)
"""Errors that are printed as a sentence. Any other error is a defect of gplens, and ends in a traceback."""
ABOUT = """Exact explanations of Gaussian processes.

`gplens demo` shows what gplens does in less than a minute. With a table of your own:

    gplens fit bikes.csv --target count --out model

    gplens explain model bikes.csv --uncertainty --out attributions.parquet

    gplens plot model bikes.csv --row 3 --out picture.png

    gplens page model bikes.csv --out page.html

    gplens verify model bikes.csv

Exit codes: 0 done, 1 an error or a failed check, 2 a mistake in the command, 130 interrupted.
"""


def application() -> Any:
    """The typer application with all commands."""
    with Extra("cli", "the command line"):
        import typer
    from gplens.cli import (
        demo_command,
        explain_command,
        fit_command,
        page_command,
        plot_command,
        reproduce,
        verify_command,
    )
    from gplens.cli.shared_arguments import FLAG

    app = typer.Typer(help=ABOUT, no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_enable=False)

    def version(asked: bool) -> bool:
        if asked:
            print(f"gplens {__version__}")
            raise typer.Exit()
        return asked

    def options(
        version: bool = typer.Option(
            False, "--version", metavar=FLAG, callback=version, is_eager=True, help="Print the version."
        ),
        debug: bool = typer.Option(
            False, "--debug", metavar=FLAG, help="Print a traceback with an error; anywhere in the line."
        ),
    ) -> None:
        pass

    app.callback()(options)
    commands = (fit_command, explain_command, plot_command, page_command, verify_command, demo_command, reproduce)
    for command in commands:
        command.add(app)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0; 1 after an error, 2 after a mistake, 130 after Ctrl-C, with a sentence on stderr."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in given
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            application()(args=[argument for argument in given if argument != "--debug"], prog_name="gplens")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except InterruptedRunError as interrupted:
        print(f"gplens: {interrupted}", file=sys.stderr)
        return 130
    except PROBLEMS as error:
        if debug:
            traceback.print_exc()
        print(f"gplens: {sentence(error).rstrip('.')}.", file=sys.stderr)
        return 1
    return 0


def _show_warning(message: Warning | str, *where: Any) -> None:
    """A warning as a sentence, without the place in the code."""
    print(f"gplens: {message}", file=sys.stderr)
