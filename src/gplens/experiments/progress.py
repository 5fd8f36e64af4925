"""What a long run says while it works, on standard error."""

import sys
from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import TypeVar, final

from tqdm import tqdm

T = TypeVar("T")


@final
class Progress:
    """A line for each stage with the time since the start; a bar within a stage on a terminal."""

    def __init__(self, *, show: bool = True) -> None:
        self.show, self.wall = show, perf_counter()

    def say(self, stage: str) -> None:
        """What is done next, or was done."""
        if self.show:
            print(f"{perf_counter() - self.wall:6.0f} s  {stage}", file=sys.stderr, flush=True)

    def each(self, things: Iterable[T], what: str, count: int | None = None) -> Iterator[T]:
        """The things, one after the other; their count where they do not know it."""
        hidden = None if self.show else True  # None lets tqdm look for a terminal
        yield from tqdm(things, total=count, desc=f"{'':8} {what}", disable=hidden, leave=False)

    @property
    def spent(self) -> str:
        """Seconds since the start."""
        return f"{perf_counter() - self.wall:.0f} s"
