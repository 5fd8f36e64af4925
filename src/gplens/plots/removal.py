"""Ablation: the loss of the prediction as features are set to the baseline, by attribution and at random."""

from dataclasses import dataclass
from typing import Any, final

import torch
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from torch import Tensor

from gplens.adapters.numbers import as_int
from gplens.display.marks import Attributions, of_output, output_of, row_of, titles
from gplens.plots.canvas import SMALL, ShownAxes, axes_of, axis_label, plain_frame, separate_thousands, write_title
from gplens.plots.colours import GREY, LOWERS, RAISES, ink
from gplens.plots.explained import Explained
from gplens.targets import Target

STEPS = 64
"""The most counts of removed features at which a curve is evaluated."""


@final
@dataclass(frozen=True, eq=False)
class Removal:
    """T(x) - T(x with features replaced), on average over some inputs."""

    counts: Int[Tensor, " s"]
    """Numbers of replaced features."""
    ordered: Float[Tensor, " s"]
    """The differences for `counts`, from the most positive attribution to the most negative one."""
    random_counts: Int[Tensor, " r"]
    """Numbers of features replaced in random orders."""
    random: Float[Tensor, "o r"]
    """The differences for `random_counts`: a curve for each order, or only their mean."""
    total: float
    """The sum of the attributions, at which all curves end."""
    sign_change: float
    """The number of features with a positive attribution."""


def ablation(
    explanation: Attributions,
    model: Any,
    *,
    row: int | None = None,
    output: Any = None,
    likelihood: Any = None,
    target: Target | None = None,
    contrast: tuple[str, str] | None = None,
    orders: int = 30,
    seed: int = 0,
    unit: str = "",
    ax: Axes | None = None,
) -> Axes:
    """The loss of the prediction as features are set to the baseline, in the order of attribution and at random.

    The order goes from the most positive attribution to the most negative one. A good order is above the random ones
    until the sign of the attributions changes; all curves end on the sum of the attributions, by completeness.

    Args:
        explanation: the result of `gplens.explain`.
        model: the model that was explained, or gplens.read(model).
        row: the position of the input; the mean over all inputs if None.
        output: the position or name of an output; required if there are several and no row is given.
        likelihood: as it was passed to `explain`.
        target: as it was passed to `explain`.
        contrast: the two outputs of `explanation.contrast(a, b)`, by name, if the explanation is a contrast.
        orders: the number of random orders.
        seed: the seed of the random orders.
        unit: the unit of the prediction, for the label of the axis.
        ax: the axes to draw on; those of a new figure if None.

    Returns:
        The axes; `ax.figure.savefig("picture.png")` writes a file.

    Raises:
        ValueError: if the predictions of the model are not the explained ones.

    Example:
        >>> ax = gplens.plots.ablation(explanation, gp, likelihood=gplens.links.Identity(), orders=3)
    """
    e = explanation
    row = row_of(e, row) if row is not None else 0 if len(e.values) == 1 else None
    j, count = output_of(e, output, row), as_int(orders)
    if count is None or count < 1:
        raise ValueError(f"expected orders to be a whole number of 1 or more, got {orders!r}.")
    explained = Explained.of(e, model, j, likelihood=likelihood, target=target, contrast=contrast)
    rows = range(len(e.values)) if row is None else [row]
    removal = removed(e, explained, j, list(rows), count, seed)
    ax = axes_of(ax, 6.4, 3.8)
    curves(ax, removal)
    ax.set(xlabel="features set to the baseline", ylabel=axis_label("prediction lost", unit))
    if isinstance(ax, ShownAxes):
        ax.legend(frameon=False, fontsize=SMALL, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.17))
    else:
        ax.legend(fontsize=SMALL)
    title, subtitle = titles(e, j, row, f"{count} random orders")
    write_title(ax, title if row is not None else f"{title}, mean over {len(e.values):,} inputs", subtitle)
    return ax


def removed(e: Attributions, explained: Explained, j: int | None, rows: list[int], orders: int, seed: int) -> Removal:
    """The curves of some inputs, without the features in which all of them equal the baseline."""
    baseline = e.baseline if e.background else e.baseline[rows]
    free = (
        ((e.inputs[rows, None] if e.background else e.inputs[rows]) != baseline).flatten(0, -2).any(0).nonzero()[:, 0]
    )
    counts, generator = even_counts(len(free), STEPS), torch.Generator().manual_seed(seed)
    ordered, random = torch.zeros(len(counts)).double(), torch.zeros(orders, len(counts)).double()
    for row in rows:
        values = of_output(e.values, j)[row, free]
        at_random = torch.rand(orders, len(free), generator=generator).argsort(1)
        ranks = torch.cat([order_of(values)[None], at_random]).argsort(1)
        states = (ranks[:, None] < counts[:, None]).flatten(0, 1)
        target = _replaced(e, explained, row, free, states).unflatten(0, (-1, len(counts)))
        lost = (target[:, :1] - target) / len(rows)
        ordered, random = ordered + lost[0], random + lost[1:]
    of_rows = of_output(e.values, j)[rows][:, free]
    return Removal(
        counts, ordered, counts, random, float(of_rows.sum(1).mean()), float((of_rows > 0).sum(1).double().mean())
    )


def _replaced(e: Attributions, explained: Explained, row: int, free: Tensor, states: Tensor) -> Float[Tensor, " s"]:
    """T of an input with some of the free features set to the baseline, on average over a background."""
    baselines = e.baseline if e.background else e.baseline[row : row + 1]
    total, weights = torch.zeros(len(states), dtype=e.inputs.dtype), e.baseline_weights
    for i, baseline in enumerate(baselines):
        points = e.inputs[row].repeat(len(states), 1)
        points[:, free] = torch.where(states, baseline[free], e.inputs[row, free])
        total += explained(points) * (1 / len(baselines) if weights is None else weights[i])
    return total


def curves(ax: Axes, removal: Removal) -> None:
    """The curves on axes, with the sum of the attributions and the change of their sign."""
    counts, random = removal.random_counts.numpy(), removal.random
    if len(random) > 1:
        low, high = (torch.quantile(random, q, dim=0).numpy() for q in (0.05, 0.95))
        ax.fill_between(counts, low, high, color=GREY, alpha=0.25, linewidth=0).set_label("90 % of random orders")
    ax.plot(counts, random.mean(0).numpy(), color=GREY, linewidth=1.6, label="mean of random orders")
    ax.axhline(removal.total, color=RAISES, linewidth=1, linestyle="--", label="sum of attributions")
    ax.axvline(removal.sign_change, color=ink(), linewidth=1, linestyle=":", label="sign change")
    ax.plot(removal.counts.numpy(), removal.ordered.numpy(), color=LOWERS, linewidth=2, label="order of attribution")
    ax.set_xlim(0, max(int(counts[-1]), 1))
    plain_frame(ax)
    separate_thousands(ax.yaxis)


def even_counts(features: int, steps: int) -> Int[Tensor, " s"]:
    """Numbers of features from 0 to all, in at most so many even steps."""
    return torch.linspace(0, features, min(steps, features) + 1, dtype=torch.float64).round().long()


def order_of(values: Float[Tensor, " p"]) -> Int[Tensor, " p"]:
    """Features from the most positive attribution to the most negative; ties keep their order."""
    return values.argsort(descending=True, stable=True)
