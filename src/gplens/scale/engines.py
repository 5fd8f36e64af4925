"""The interface of engines, which carry out a work list, and the engine of this machine."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

from gplens.scale.run_folder import Record
from gplens.scale.unit_task import UnitTask
from gplens.scale.work_list import Unit


class Engine(ABC):
    """Where the units of a work list are explained.

    Example:
        >>> from gplens.scale import Engine, Local, Ray
        >>> issubclass(Local, Engine), issubclass(Ray, Engine)
        (True, True)
    """

    def check(self) -> None:  # noqa: B027  most engines are always available
        """Refuse an engine that cannot be reached. Called before anything is written or removed."""

    @abstractmethod
    def run(self, task: UnitTask, units: Sequence[Unit]) -> Iterator[Record]:
        """Carry out the task for each unit, and yield the records in the order in which they are finished."""


@final
@dataclass(frozen=True)
class Local(Engine):
    """This process: one unit after another, each on all threads of PyTorch.

    Example:
        >>> from gplens.scale import Local
        >>> Local()
        Local()
    """

    def run(self, task: UnitTask, units: Sequence[Unit]) -> Iterator[Record]:
        return map(task, units)
