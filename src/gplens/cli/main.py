"""The command line: `gplens COMMAND`."""

import argparse
import sys
from collections.abc import Sequence

from gplens import __version__
from gplens.cli import reproduce

COMMANDS = (reproduce,)
"""Modules with a function `add(commands)`, which adds a parser whose default `run` takes the options."""


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    top = argparse.ArgumentParser(prog="gplens", description="Exact explanations of Gaussian processes.")
    top.add_argument("--version", action="version", version=f"gplens {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. Returns 0; 1 after an error, 130 after Ctrl-C, with a sentence on standard error."""
    options = parser().parse_args(arguments)
    try:
        options.run(options)
    except (OSError, ValueError, ImportError, ArithmeticError) as error:
        print(f"gplens: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gplens: interrupted; nothing was written.", file=sys.stderr)
        return 130
    return 0
