"""`gplens COMMAND`: what people type."""

import argparse
import sys
from collections.abc import Sequence

from gplens import __version__
from gplens.cli import reproduce

COMMANDS = (reproduce,)
"""Modules with `add(commands)`, which adds a parser whose default `run` takes the arguments."""


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(prog="gplens", description="Exact explanations of Gaussian processes.")
    top.add_argument("--version", action="version", version=f"gplens {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command: 0 if it did what it was asked for, 1 with a sentence on standard error if not."""
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except (OSError, ValueError, ImportError, ArithmeticError) as error:
        print(f"gplens: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gplens: stopped; nothing was written.", file=sys.stderr)
        return 130
    return 0
