"""One small picture of each plot, and how alike two pictures are. Run as a program, it writes the pictures anew."""

from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path

import matplotlib
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.image import imread
from numpy.typing import NDArray
from plotted import made, posterior

import gplens
from gplens import Explanation, plots
from gplens.links import Exp
from gplens.targets import EpistemicVariance

FOLDER = Path(__file__).parent / "pictures"
BLOCK = 6
"""Pixels of the side of a block, whose mean colour is compared: about a letter."""
CLOSE = 0.012
"""The largest distance of pictures that are alike. The same picture with another version of Matplotlib is nearer than
that, and one in which a bar or a band has another length by a fifth is not: `test_the_distance_sees_a_change`."""


@cache
def table(factor: float = 1.0) -> Explanation:
    values = np.array([[3.0, -2.0, 1.0, 0.4, -0.2], [1.0, 1.5, -1.0, 0.3, 0.1], [-2.0, 1.0, 0.5, 0.5, 0.0]])
    values[:, 0] *= factor
    std = np.array([[0.6, 0.5, 0.4, 0.3, 0.2]] * 3) * factor
    return made(values, std, names=("hour", "temperature", "humidity", "wind speed", "weekday"))


@cache
def curve(factor: float = 1.0) -> Explanation:
    x = factor * torch.tensor([[1.5, -1.0, 0.5, 1.0, 0.2]], dtype=torch.float64)
    return gplens.explain(posterior(), x, baseline=0.0, likelihood=Exp())


def pixels(factor: float = 1.0) -> Explanation:
    values = np.sin(np.arange(36.0))[None]
    values[:, :12] *= 1 - (factor - 1) * 3
    return made(values, 0.3 * np.ones((1, 36)), names=tuple(f"pixel {i}" for i in range(36)))


def variance(factor: float = 1.0) -> Explanation:
    x = factor * torch.tensor([[1.5, -1.0, 0.5, 1.0, 0.2]], dtype=torch.float64)
    return gplens.explain(posterior(), x, baseline=0.0, target=EpistemicVariance())


PICTURES: dict[str, Callable[[float], Axes]] = {
    "waterfall": lambda factor: plots.waterfall(table(factor), top=3),
    "bar": lambda factor: plots.bar(table(factor)),
    "beeswarm": lambda factor: plots.beeswarm(table(factor)),
    "scatter": lambda factor: plots.scatter(table(factor), "hour", colour_by="wind speed"),
    "image": lambda factor: plots.image(pixels(factor), fade=True),
    "path": lambda factor: plots.path(curve(factor), posterior(), likelihood=Exp()),
    "ablation": lambda factor: plots.ablation(curve(factor), posterior(), orders=8, likelihood=Exp()),
    "uncertainty": lambda factor: plots.uncertainty(variance(factor)),
}
"""Each plot of numbers some of which are multiplied by a factor."""


def rendered(name: str, factor: float = 1.0) -> bytes:
    """A plot as a small PNG, in Matplotlib's own font."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "font.family": ["DejaVu Sans"]}):
        content = BytesIO()
        PICTURES[name](factor).figure.savefig(content, format="png", dpi=40)  # pyright: ignore[reportAttributeAccessIssue]
    return content.getvalue()


def distance(a: bytes, b: bytes) -> float:
    """The root mean square of the differences of the mean colours of blocks, from 0 to 1."""
    first, second = (_blocks(imread(BytesIO(content))) for content in (a, b))
    assert first.shape == second.shape, f"pictures of different sizes: {first.shape}, {second.shape} blocks"
    return float(np.sqrt(((first - second) ** 2).mean()))


def _blocks(picture: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean colours of blocks; a rest at the right and lower edges is left out."""
    height, width = (side // BLOCK for side in picture.shape[:2])
    cut = picture[: height * BLOCK, : width * BLOCK, :3]
    return cut.reshape(height, BLOCK, width, BLOCK, 3).mean((1, 3))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.png").write_bytes(rendered(name))
