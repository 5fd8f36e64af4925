"""A bar that shows how many inputs are explained, on a terminal or in a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

DELAY = 2.0
"""Seconds before a bar appears."""

Advance = Callable[[int], None]


def check_progress(progress: Any) -> None:
    """Refuse anything but True and False; and True without tqdm."""
    if not isinstance(progress, bool):
        raise TypeError(f"expected progress=True, False or None, got {progress!r}.")
    if progress and find_spec("tqdm") is None:
        raise ImportError("expected tqdm to be installed for progress=True, got no module tqdm. Run pip install tqdm.")


@contextmanager
def showing(total: int, progress: bool | None) -> Iterator[Advance]:
    """A context with a function that is called with the number of finished rows.

    With None a bar appears after two seconds, on a terminal or in a notebook, if tqdm is installed; with True always.
    """
    if progress is None:
        progress = find_spec("tqdm") is not None and (_in_notebook() or _on_terminal())
    if not progress:
        yield lambda rows: None
        return
    with _bar_class()(total=total, unit=" rows", desc="explain", delay=DELAY, leave=False, file=sys.stderr) as bar:
        yield bar.update


def _on_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel rather than on a terminal."""
    ipython: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return ipython is not None and "IPKernelApp" in ipython.config


def _bar_class() -> Any:
    """tqdm's bar for notebooks if its widgets are installed, else its text bar."""
    if _in_notebook() and find_spec("ipywidgets") is not None:
        from tqdm.notebook import tqdm
    else:
        from tqdm import tqdm
    return tqdm
