"""Explanations in the units of a framework, compared with the framework's own prediction."""

import torch
from jaxtyping import Float
from torch import Tensor

from gplens.explanation import Explanation

SAME = 1e-6
"""The largest accepted difference of two predictions, relative to their spread and the largest attribution."""


def check_prediction(explanation: Explanation, host: Float[Tensor, " b"], source: str) -> None:
    """Refuse an explanation of numbers that the framework does not predict.

    Raises:
        ValueError: if a prediction differs; the message names `source`, the framework's call.
    """
    ours = explanation.prediction
    scale = explanation.values.abs().max() + host.std(correction=0)
    difference = (ours - host.to(torch.float64)).abs()
    if not bool(difference.max() <= SAME * scale + 1e-12 * host.abs().max()):
        i = int(difference.argmax())
        raise ValueError(
            f"expected {float(ours[i]):.10g} for row {i} from {source}, as from the model inside, got "
            f"{float(host[i]):.10g}; a transform is not undone, and gplens would not explain your numbers."
        )
