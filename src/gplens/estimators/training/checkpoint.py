"""What a killed fit resumes from: one safetensors file, replaced atomically."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import final

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

from gplens.estimators.training.stopping import Best
from gplens.explanation.files import write

FORMAT = "gplens checkpoint"
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
    """A folder for one fit: its data and options are part of what is stored, as a fingerprint."""

    folder: Path
    fingerprint: str

    def save(self, state: State) -> None:
        """The old one or the new one is there at any time."""
        self.folder.mkdir(parents=True, exist_ok=True)
        best = state.best
        numbers = {"step": state.step, "value": best.value, "best": best.step, "looks": best.looks}
        header = {"format": FORMAT, "fingerprint": self.fingerprint, **numbers}
        now, kept = (
            {f"{part}/{name}": tensor.detach().contiguous().clone() for name, tensor in tensors.items()}
            for part, tensors in (("now", state.tensors), ("best", best.tensors))
        )
        write(self.folder / NAME, to_bytes(now | kept, metadata={"gplens": json.dumps(header)}))

    def load(self) -> State | None:
        """None where there is none yet; an error where it belongs to another fit."""
        path = self.folder / NAME
        if not path.exists():
            return None
        try:
            with safe_open(path, framework="pt") as file:
                header = json.loads((file.metadata() or {}).get("gplens", "{}"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
        except SafetensorError as cause:
            raise ValueError(f"{path} is damaged ({cause}). Delete it to start again.") from cause
        if header.get("format") != FORMAT or header["fingerprint"] != self.fingerprint:
            raise ValueError(
                f"{path} belongs to a fit of other data or with other options. Delete it, or give another folder."
            )
        best = Best(header["value"], header["best"], header["looks"], _part(tensors, "best/"))
        return State(header["step"], _part(tensors, "now/"), best)

    def remove(self) -> None:
        """The fit is done."""
        (self.folder / NAME).unlink(missing_ok=True)


def fingerprint(options: str, *tensors: Tensor) -> str:
    """Of the data and the options."""
    digest = hashlib.sha256(f"{options} {torch.__version__}".encode())
    for tensor in tensors:
        digest.update(f"{tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.contiguous().numpy().data)
    return digest.hexdigest()


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
