"""Results of a portion of the rows of a call, written into their place in the results of all rows."""

from dataclasses import dataclass, replace
from typing import final

import torch
from torch import Tensor

from gplens.explanation.spread import Spread
from gplens.paths.integrals import Attribution


@final
@dataclass(frozen=True, eq=False)
class Portion:
    """The results of the first `done` inputs; the other rows of the tensors are NaN or zero."""

    attribution: Attribution
    spread: Spread | None
    done: int
    interrupt: KeyboardInterrupt | None = None
    """The interrupt that ended the work early; None if it is complete."""


def finished(portion: Portion) -> Attribution:
    """The attributions of the finished inputs."""
    return Attribution.of({name: part[: portion.done] for name, part in portion.attribution.tensors().items()})


def written(whole: Portion | None, part: Portion, before: int, rows: int) -> Portion:
    """Write the results of a portion into their place in the results of all rows."""
    if whole is None:
        spread = None if part.spread is None else replace(part.spread, **_room(part.spread.tensors(), rows))
        whole = Portion(Attribution.of(_room(part.attribution.tensors(), rows)), spread, 0)
    _write(whole.attribution.tensors(), part.attribution.tensors(), before)
    if whole.spread is None or part.spread is None:
        return whole
    lost = whole.spread.tensors().keys() - part.spread.tensors().keys()  # float64 does not hold these covariances
    whole = replace(whole, spread=replace(whole.spread, **dict.fromkeys(lost)))
    assert whole.spread is not None
    _write(whole.spread.tensors(), part.spread.tensors(), before)
    return whole


def _room(tensors: dict[str, Tensor], rows: int) -> dict[str, Tensor]:
    """Tensors for all rows."""
    return {
        name: part.new_full((rows, *part.shape[1:]), torch.nan if part.is_floating_point() else 0)
        for name, part in tensors.items()
    }


def _write(whole: dict[str, Tensor], part: dict[str, Tensor], before: int) -> None:
    for name, tensor in whole.items():
        tensor[before : before + len(part[name])] = part[name]
