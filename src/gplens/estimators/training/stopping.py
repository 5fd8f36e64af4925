"""When to stop, and what to keep: the best bound seen so far."""

import signal
import threading
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, final

from torch import Tensor

from gplens.estimators.training.options import EarlyStopping


@final
@dataclass
class Best:
    """The best value so far, with a copy of everything that produced it."""

    value: float = float("-inf")
    step: int = 0
    looks: int = 0
    """Looks since the last improvement that counts."""
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def offer(self, value: float, step: int, tensors: dict[str, Tensor], stopping: EarlyStopping) -> bool:
        """Keep it if it is better; whether to go on."""
        self.looks = 0 if value > self.value + stopping.tolerance else self.looks + 1
        if value > self.value:
            self.value, self.step = value, step
            self.tensors = {name: tensor.detach().clone() for name, tensor in tensors.items()}
        return self.looks < stopping.patience


@final
class Interrupt:
    """Ctrl-C asks for the end of the current step instead of tearing it apart; a second one is what it always is."""

    def __init__(self) -> None:
        self.asked = False
        self._previous: Any = None

    def __enter__(self) -> "Interrupt":
        if threading.current_thread() is threading.main_thread():  # elsewhere signals cannot be caught
            self._previous = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True

    def __exit__(self, *error: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
