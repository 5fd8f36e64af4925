"""Ctrl-C as a sentence that says what was kept and how to go on."""

from collections.abc import Callable
from functools import wraps
from typing import Any


class InterruptedRunError(Exception):
    """A command that was interrupted, with what it left behind."""


def interruptible(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with a KeyboardInterrupt that says that nothing was written."""

    @wraps(command)
    def run(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except KeyboardInterrupt:
            raise InterruptedRunError("interrupted; nothing was written.") from None

    return run
