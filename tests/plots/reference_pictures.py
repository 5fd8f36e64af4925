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
from scipy.ndimage import gaussian_filter

import gplens
from gplens import Explanation, plots
from gplens.links import Exp
from gplens.targets import EpistemicVariance

FOLDER = Path(__file__).parent / "pictures"
BLUR = 4.0
"""The radius of the blur before pictures are compared, in pixels: about a letter."""
CLOSE = 0.012
"""The largest distance of pictures that are alike. Matplotlib 3.8 and 3.11 draw the pictures at distances up to 0.006,
because the widths of letters differ a little; and a change of the numbers by half makes distances above 0.02."""


@cache
def table(factor: float = 1.0) -> Explanation:
    values = np.array([[3.0, -2.0, 1.0, 0.4, -0.2], [1.0, 1.5, -1.0, 0.3, 0.1], [-2.0, 1.0, 0.5, 0.5, 0.0]])
    values[1, 0] += 4 * (factor - 1)
    values[0, 2] -= 4 * (factor - 1)
    std = np.array([[0.6, 0.5, 0.4, 0.3, 0.2]] * 3) * factor
    return made(values, std, names=("hour", "temperature", "humidity", "wind speed", "weekday"))


@cache
def cloud(factor: float = 1.0) -> Explanation:
    values = np.sin(np.arange(60.0)).reshape(20, 3)
    values[:, 0] += 8 * (factor - 1) * (np.arange(20) % 7 - 3)
    return made(values, 0.4 * np.ones_like(values), names=("hour", "wind speed", "weekday"))


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
    "scatter": lambda factor: plots.scatter(cloud(factor), "hour", colour_by="wind speed"),
    "image": lambda factor: plots.image(pixels(factor), fade=True),
    "path": lambda factor: plots.path(curve(factor), posterior(), likelihood=Exp()),
    "ablation": lambda factor: plots.ablation(curve(factor), posterior(), orders=8, likelihood=Exp()),
    "uncertainty": lambda factor: plots.uncertainty(variance(factor)),
}
"""Each plot of numbers some of which are multiplied by a factor."""


def rendered(name: str, factor: float = 1.0) -> bytes:
    """A plot as a small PNG, in Matplotlib's own font, whose widths depend on the version if letters are hinted."""
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, "font.family": ["DejaVu Sans"], "text.hinting": "none"}):
        content = BytesIO()
        PICTURES[name](factor).figure.savefig(content, format="png", dpi=40)  # pyright: ignore[reportAttributeAccessIssue]
    return content.getvalue()


def distance(a: bytes, b: bytes) -> float:
    """1 - the correlation of what is drawn on the white page, blurred: 0 for equal pictures, 1 for unrelated ones."""
    first, second = (_ink(content) for content in (a, b))
    assert first.shape == second.shape, f"pictures of different sizes: {first.shape}, {second.shape}"
    return 1 - float(np.corrcoef(first.ravel(), second.ravel())[0, 1])


def _ink(content: bytes) -> NDArray[np.float64]:
    picture = 1 - imread(BytesIO(content))[..., :3].astype(np.float64)
    return gaussian_filter(picture, (BLUR, BLUR, 0))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in PICTURES:
        (FOLDER / f"{name}.png").write_bytes(rendered(name))
