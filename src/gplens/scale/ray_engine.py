"""A work list on a Ray cluster: actors hold the model and explain one unit at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, final

from gplens.scale.engines import Engine
from gplens.scale.ray_cluster import check_address, connected
from gplens.scale.run_folder import Record
from gplens.scale.unit_task import UnitTask
from gplens.scale.work_list import Unit
from gplens.scale.worker_threads import use_threads

RETRIES = 3
"""How often a unit is repeated after its worker died. A unit that kills every worker ends the run."""


@final
@dataclass(frozen=True)
class Ray(Engine):
    """Actors of a Ray cluster. A row passes from the input to the output within one actor.

    An actor gets its next unit after it has written the part and the record of the previous one. A slow output thus
    slows the reading, and each actor holds a few pieces in memory. If an actor dies, its replacement repeats the unit.

    Raises:
        ValueError: if `workers` or `cpus` is not a whole number of 1 or more.

    Example:
        >>> from gplens.scale import Ray
        >>> Ray(workers=4).cpus
        1
    """

    address: str | None = None
    """As in `connected`: "auto", "HOST:PORT", "ray://HOST:PORT", or None for RAY_ADDRESS or this machine."""
    workers: int | None = None
    """The number of actors; None stands for as many as the CPUs of the cluster allow at the beginning. With a number
    the cluster is asked for that many, so that an autoscaling cluster grows."""
    cpus: int = 1
    """The CPUs and threads of an actor."""
    patience: float = 900.0
    """The seconds to wait for the first actor, whose machine may have to be started."""

    def __post_init__(self) -> None:
        for name in ("workers", "cpus"):
            number = getattr(self, name)
            if number is not None and (not isinstance(number, int) or number < 1):
                raise ValueError(f"expected {name} of 1 or more, got {number!r}.")

    def check(self) -> None:
        check_address(self.address)

    def run(self, task: UnitTask, units: Sequence[Unit]) -> Iterator[Record]:
        """Give each actor a unit as soon as it is free.

        Raises:
            OSError, ValueError: with the error of a worker.
        """
        if not units:
            return
        with connected(self.address, cpus=None if self.workers is None else self.workers * self.cpus) as ray:
            count = self.workers or max(int(ray.cluster_resources().get("CPU", 1)) // self.cpus, 1)
            kind = ray.remote(num_cpus=self.cpus, max_restarts=-1, max_task_retries=RETRIES)(Worker)
            actors = [kind.remote(task, self.cpus) for _ in range(min(count, len(units)))]
            try:
                yield from self._spread(ray, actors, units)
            finally:
                for actor in actors:
                    ray.kill(actor)

    def _spread(self, ray: Any, actors: list[Any], units: Sequence[Unit]) -> Iterator[Record]:
        """Give units to actors that have loaded the model, while others may still wait for a machine."""
        left, began = iter(units), monotonic()
        tasks: dict[Any, tuple[Any, Unit | None]] = {actor.prepare.remote(): (actor, None) for actor in actors}
        unfinished = len(units)
        while unfinished:
            done, _ = ray.wait(list(tasks), num_returns=1, timeout=1.0)
            for answer in done:
                actor, unit = tasks.pop(answer)
                record = _answer(ray, answer, unit)
                if record is not None:
                    unfinished -= 1
                if (following := next(left, None)) is not None:
                    tasks[actor.explain.remote(following)] = actor, following
                if record is not None:
                    yield record
            if not done and len(tasks) == len(actors) and all(unit is None for _, unit in tasks.values()):
                self._check_waiting(ray, monotonic() - began)

    def _check_waiting(self, ray: Any, seconds: float) -> None:
        if seconds > self.patience:
            free = ray.available_resources().get("CPU", 0)
            raise TimeoutError(
                f"expected a worker with {self.cpus} CPUs within {self.patience:g} seconds, got none; {free:g} CPUs of "
                "the cluster are free. Ask for fewer, or add machines."
            )


@final
class Worker:
    """An actor, with the task and as many threads as CPUs."""

    def __init__(self, task: UnitTask, cpus: int) -> None:
        use_threads(cpus)
        self.task = task

    def prepare(self) -> None:
        """Load the model, once for all tasks of the worker."""
        _ = self.task.explainer

    def explain(self, unit: Unit) -> Record:
        """Explain a unit, and write its part and its record."""
        return self.task(unit)


def _answer(ray: Any, answer: Any, unit: Unit | None) -> Record | None:
    """The result of a call of an actor. An error of the worker is raised as it was, without Ray's traceback."""
    try:
        return ray.get(answer)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, OSError | ValueError | ImportError | ArithmeticError):
            kind = next(kind for kind in (OSError, ValueError, ImportError, ArithmeticError) if isinstance(cause, kind))
            raise kind(str(cause)) from error
        raise
    except ray.exceptions.RayError as error:
        what = "to load the model" if unit is None else f"with row group {unit.group} of {unit.file}"
        raise OSError(
            f"expected a worker that survives, got one that died {RETRIES + 1} times {what} ({type(error).__name__}): "
            "it may lack memory. Finished parts are kept; add --resume to go on."
        ) from error
