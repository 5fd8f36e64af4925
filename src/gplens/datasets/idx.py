"""The IDX format of MNIST: a magic number, the sizes, then bytes."""

from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gplens.datasets.places import read

BYTES = 8
"""The type code of unsigned bytes, the only one that these files use."""


def read_idx(path: Path, axes: int) -> NDArray[np.uint8]:
    """An array with so many axes; an error that says what was found where a file is something else."""
    content = read(path)
    if len(content) < 4 + 4 * axes or content[:4] != bytes([0, 0, BYTES, axes]):
        got = content[:4].hex(" ") or "nothing"
        raise ValueError(f"{path} begins with {got}; an IDX file of bytes with {axes} axes was wanted.")
    shape = np.frombuffer(content, ">u4", axes, offset=4).tolist()
    size = len(content) - 4 - 4 * axes
    if size != prod(shape):
        raise ValueError(f"{path} holds {size} bytes for the shape {tuple(shape)}; it is damaged. Get it again.")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * axes).reshape(shape)
