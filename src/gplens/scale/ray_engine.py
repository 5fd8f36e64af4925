"""The work list on a Ray cluster: actors that hold the model, one unit at a time for each."""

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
"""How often a unit is repeated whose worker died. A unit that kills every worker ends the run."""


@final
@dataclass(frozen=True)
class Ray(Engine):
    """Actors of a Ray cluster. A row goes from the input to the output within one actor, and nowhere else.

    An actor gets its next unit when the part and the record of the last one are written. So a slow output slows the
    reading down, and memory is that of a few pieces for each actor. The unit of an actor that dies is repeated by the
    one that replaces it.

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
    """The number of actors; None is as many as the CPUs of the cluster allow when the run begins. With a number the
    cluster is asked for that many, which makes an autoscaling one grow."""
    cpus: int = 1
    """CPUs of an actor, and its threads."""
    patience: float = 900.0
    """Seconds to wait for the first actor, whose machine may have to be started."""

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
            OSError, ValueError: what went wrong on a worker, as a sentence.
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
        """Units go to actors that have loaded the model; those that wait for a machine hold nothing up."""
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
    """An actor: the task, with as many threads as the actor has CPUs."""

    def __init__(self, task: UnitTask, cpus: int) -> None:
        use_threads(cpus)
        self.task = task

    def prepare(self) -> None:
        """Load the model."""
        _ = self.task.explainer

    def explain(self, unit: Unit) -> Record:
        """Explain a unit, and leave its part and its record."""
        return self.task(unit)


def _answer(ray: Any, answer: Any, unit: Unit | None) -> Record | None:
    """The result of a call of an actor; an error of the worker as it was there, without Ray's account of it."""
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
            f"expected a worker that lives, got one that died {RETRIES + 1} times {what} ({type(error).__name__}): it "
            "may lack memory. Finished parts are kept; add --resume to go on."
        ) from error
