"""What a long run says while it works, on standard error."""

import sys
from collections.abc import Iterable, Iterator
from time import perf_counter, process_time
from typing import TypeVar, final

from tqdm import tqdm

T = TypeVar("T")


@final
class Progress:
    """A line for each stage with the time since the start; a bar within a stage on a terminal."""

    def __init__(self, *, show: bool = True) -> None:
        self.show, self.wall, self.cpu = show, perf_counter(), process_time()

    def say(self, stage: str) -> None:
        """What is done next, or was done."""
        if self.show:
            print(f"{perf_counter() - self.wall:6.0f} s  {stage}", file=sys.stderr, flush=True)

    def each(self, things: Iterable[T], what: str) -> Iterator[T]:
        """The things, one after the other."""
        hidden = None if self.show else True  # None lets tqdm look for a terminal
        yield from tqdm(things, desc=f"{'':8} {what}", disable=hidden, leave=False)

    @property
    def spent(self) -> str:
        """Wall-clock and CPU seconds since the start."""
        return f"{perf_counter() - self.wall:.0f} s ({process_time() - self.cpu:.0f} s of CPU)"
