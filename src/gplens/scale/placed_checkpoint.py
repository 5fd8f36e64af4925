"""The state of a data-parallel fit on storage that all workers can access."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from jaxtyping import Float
from torch import Tensor

from gplens.estimators.training.checkpoint import NAME, Checkpoint, State
from gplens.scale.places import Place

STREAMS = "streams"
"""The tensor with the positions of all streams: the pass, and its first step."""


@final
@dataclass(frozen=True)
class PlacedCheckpoint:
    """The checkpoint of one fit, identified by a fingerprint of its data, options and number of workers."""

    place: Place
    fingerprint: str

    def save(self, state: State, streams: Float[Tensor, "w 2"]) -> None:
        """Write the state atomically: a reader sees the old or the new one."""
        tensors = {**state.tensors, STREAMS: streams}
        (self.place / NAME).write(self._format.packed(replace(state, tensors=tensors)))

    def load(self) -> tuple[State, Float[Tensor, "w 2"]] | None:
        """The stored state and the places of the streams, or None if there is none yet.

        Raises:
            ValueError: if the file is damaged, or belongs to another fit.
        """
        file = self.place / NAME
        if not file.exists():
            return None
        state = self._format.unpacked(file.read(), file)
        tensors = dict(state.tensors)
        streams = tensors.pop(STREAMS)
        return replace(state, tensors=tensors), streams

    @property
    def _format(self) -> Checkpoint:
        return Checkpoint(Path(), self.fingerprint)
