"""A bar with the rate, the ELBO and the time left; silent where standard error is no terminal."""

from typing import final

from tqdm import tqdm

SILENT = 1.0
"""Seconds before it appears, so that quick fits show nothing."""


@final
class Progress:
    """`with Progress(steps, first, show) as bar: bar.advance(elbo)`."""

    def __init__(self, steps: int, first: int, show: bool) -> None:
        hidden = None if show else True  # None lets tqdm look for a terminal
        self.bar = tqdm(total=steps, initial=first, disable=hidden, delay=SILENT, unit="step", leave=False)

    def __enter__(self) -> "Progress":
        return self

    def advance(self, elbo: float) -> None:
        """One step done, with the bound per row that it saw."""
        if not self.bar.disable:
            self.bar.set_postfix_str(f"ELBO {elbo:.4f} per row", refresh=False)
        self.bar.update()

    def __exit__(self, *error: object) -> None:
        self.bar.close()
