"""Ctrl-C and errors of the system as sentences that say what was kept and how to go on."""

from collections.abc import Callable
from errno import EDQUOT, ENOSPC
from functools import wraps
from typing import Any

NOTHING = "nothing was written"


class InterruptedRunError(Exception):
    """A command was interrupted. The message says which files it leaves behind."""


def interruptible(command: Callable[..., None], *, left: str = NOTHING) -> Callable[..., None]:
    """Run a command, with a KeyboardInterrupt that names the files that it leaves behind."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise InterruptedRunError(f"interrupted; {left}.") from None

    return run


def sentence(error: Exception) -> str:
    """The message of an error; for an error of the system, what was expected, what was got, and what to do."""
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    place = "" if error.filename is None else f" for {error.filename}"
    if error.errno in (ENOSPC, EDQUOT):
        return f"expected room on the disk{place}, got: {error.strerror}; make room or choose another place"
    if error.filename is None:
        return str(error)
    return (
        f"expected a path that can be used, got {error.filename}: {error.strerror}; check its folder, or choose another"
        " place"
    )
