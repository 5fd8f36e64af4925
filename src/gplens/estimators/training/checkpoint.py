"""The state of a fit by name, and the file from which a killed fit resumes: safetensors, replaced atomically."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from torch import Tensor

from gplens.estimators.training.monitor import Best
from gplens.explanation.storage import DamageError, pack, unpack, write

FORMAT = "gplens checkpoint"
VERSION = 2
NAME = "checkpoint.safetensors"


@final
@dataclass(frozen=True)
class State:
    """Everything that the next step depends on, beside the data and the options."""

    step: int
    tensors: dict[str, Tensor]
    best: Best


@final
@dataclass(frozen=True)
class Checkpoint:
    """A folder for one fit, which is identified by a fingerprint of its data and options."""

    folder: Path
    fingerprint: str

    def save(self, state: State) -> None:
        """Write the state; at any time either the old or the new one exists in full."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write(self.folder / NAME, self.packed(state))

    def packed(self, state: State) -> bytes:
        """The state as the content of a file."""
        best = state.best
        numbers = {"step": state.step, "value": best.value, "best": best.step, "looks": best.looks}
        header = {"format": FORMAT, "format_version": VERSION, "fingerprint": self.fingerprint, **numbers}
        tensors = joined({"now": state.tensors, "best": best.tensors}, "/")
        content = {name: tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
        return pack(header, content)

    def load(self) -> State | None:
        """The stored state, or None if there is none yet.

        Raises:
            ValueError: the file is damaged, or belongs to another fit.
        """
        path = self.folder / NAME
        return self.unpacked(path.read_bytes(), path) if path.exists() else None

    def unpacked(self, content: bytes, path: object) -> State:
        """The inverse of `packed`; errors name the path."""
        try:
            header, tensors = unpack(content, FORMAT, VERSION)
        except DamageError as damage:
            raise ValueError(
                f"expected a checkpoint that this version of gplens wrote, got {path}, {damage}; delete it."
            ) from damage
        if header["fingerprint"] != self.fingerprint:
            raise ValueError(
                f"expected a checkpoint of the same data and options, got one of another fit in {path}; delete it, or "
                "pass another folder."
            )
        parts = parted(tensors, ("now", "best"), "/")
        return State(
            header["step"], parts["now"], Best(header["value"], header["best"], header["looks"], parts["best"])
        )

    def remove(self) -> None:
        """Delete the file, once the fit is done."""
        (self.folder / NAME).unlink(missing_ok=True)


def fingerprint(options: str, *tensors: Tensor) -> str:
    """A hash of the options, the tensors and the version of torch."""
    digest = hashlib.sha256(f"{options} {torch.__version__}".encode())
    for tensor in tensors:
        digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()


def joined(parts: dict[str, dict[str, Tensor]], separator: str = ".") -> dict[str, Tensor]:
    """One dictionary for several, with the name of the part before each key."""
    return {f"{part}{separator}{name}": tensor for part, named in parts.items() for name, tensor in named.items()}


def parted(tensors: dict[str, Tensor], parts: Iterable[str], separator: str = ".") -> dict[str, dict[str, Tensor]]:
    """The inverse of `joined`, with an empty dictionary for each part that has no tensors."""
    split: dict[str, dict[str, Tensor]] = {part: {} for part in parts}
    for key, tensor in tensors.items():
        part, _, name = key.partition(separator)
        split[part][name] = tensor
    return split


def adam_moments(adam: torch.optim.Adam | None) -> dict[str, Tensor]:
    """The state of Adam as tensors, numbered by parameter."""
    state = {} if adam is None else adam.state_dict()["state"]
    return {f"{i}.{name}": tensor for i, moments in state.items() for name, tensor in moments.items()}
