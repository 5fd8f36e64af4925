"""Whether what gplens reads from a model is what the model itself predicts."""

from jaxtyping import Float
from torch import Tensor


def compare(what: str, ours: Float[Tensor, "*k"], host: Float[Tensor, "*k"], limit: Tensor | float, hint: str) -> float:
    """The largest difference between a number read from a model and the one that its library prints; refuse above."""
    if ours.shape != host.shape:
        got = f"{tuple(host.shape)} from the model and {tuple(ours.shape)} from its parts"
        raise ValueError(f"The model predicts a {what} of another shape than gplens reads from it: {got}.")
    difference = (ours - host).abs()
    i = int(difference.argmax())
    if not bool(difference.max() <= limit):
        raise ValueError(
            f"The {what} that gplens reads from the model is {float(ours.flatten()[i]):.10g} where the model itself "
            f"predicts {float(host.flatten()[i]):.10g}. What is explained would not be your model, so that gplens "
            f"refuses. {hint}"
        )
    return float(difference.max())
