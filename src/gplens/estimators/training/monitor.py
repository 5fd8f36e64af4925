"""Monitoring of a fit: the best model so far, Ctrl-C, the budget, and a progress bar."""

import signal
import threading
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType
from typing import Any, final

from torch import Tensor
from tqdm import tqdm

from gplens.estimators.training.options import EarlyStopping

DELAY = 1.0
"""Seconds before the progress bar appears, so that quick fits show nothing."""
INTERRUPTED = "interrupted"
"""The entry "stopped" of `training_summary_` after Ctrl-C."""

SPENT = "the budget was spent"
"""The entry "stopped" after the seconds of the budget."""


@final
@dataclass
class Best:
    """The best value of the bound so far, with a copy of all tensors that gave it."""

    value: float = float("-inf")
    step: int = 0
    looks: int = 0
    """Evaluations since the last improvement that counts."""
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def offer(self, value: float, step: int, tensors: dict[str, Tensor], stopping: EarlyStopping) -> bool:
        """Keep the tensors if their value is the best; return whether training should go on."""
        self.looks = 0 if value > self.value + stopping.tolerance else self.looks + 1
        if value > self.value:
            self.value, self.step = value, step
            self.tensors = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        return self.looks < stopping.patience


@final
class Interrupt:
    """A context in which the first Ctrl-C sets `asked`, and the second raises KeyboardInterrupt as usual."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():  # only the main thread can handle signals
            self._previous = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)


class WatchError(Exception):
    """Raised to leave an optimiser; the text is the entry "stopped" of `training_summary_`."""


@final
class Watch:
    """A context around a fit by L-BFGS: Ctrl-C, the budget and the progress bar.

    `with Watch(60.0, began, show) as watch: ... watch.check() before and watch.advance(value) after an evaluation`
    """

    def __init__(self, budget: float | None, began: float, show: bool) -> None:
        self.deadline = None if budget is None else began + budget
        self.evaluations = 0
        self._interrupt, self._bar = Interrupt(), StepBar(None, 0, show)

    def __enter__(self) -> "Watch":
        self._interrupt.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._interrupt.__exit__(*error)
        self._bar.__exit__(*error)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self._interrupt.asked

    def check(self) -> None:
        """Raise a WatchError if the fit should end now; the first evaluation is always done."""
        if self.evaluations and self._interrupt.asked:
            raise WatchError(INTERRUPTED)
        if self.evaluations and self.deadline is not None and perf_counter() > self.deadline:
            raise WatchError(SPENT)

    def advance(self, value: float) -> None:
        """Count an evaluation, with its value in nats per row."""
        self.evaluations += 1
        self._bar.advance(value)


@final
class StepBar:
    """A progress bar with rate, ELBO and time left; silent where standard error is not a terminal.

    `with StepBar(steps, first, show) as bar: bar.advance(elbo)`
    """

    def __init__(self, steps: int | None, first: int, show: bool) -> None:
        disable = None if show else True  # None makes tqdm look for a terminal
        self.bar = tqdm(total=steps, initial=first, disable=disable, delay=DELAY, unit="step", leave=False)

    def __enter__(self) -> "StepBar":
        return self

    def advance(self, elbo: float) -> None:
        """Count one step, with the bound per row of its batch."""
        if not self.bar.disable:
            self.bar.set_postfix_str(f"ELBO {elbo:.4f} per row", refresh=False)
        self.bar.update()

    def __exit__(self, *error: object) -> None:
        self.bar.close()
