"""Explanations as shap's, for its plots."""

from typing import TYPE_CHECKING

import numpy as np
import shap
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    from gplens.explanation import Explanation


def to_shap(explanation: "Explanation", level: float) -> "shap.Explanation":
    """Values (b, d), or (b, d, c): shap has outputs last. Bounds where the posterior distribution is known."""
    e = explanation
    known = e.draws is not None or (e.gaussian and e.std is not None)
    lower, upper = map(_outputs_last, e.interval(level)) if known else (None, None)
    return shap.Explanation(
        values=_outputs_last(e.values),
        base_values=e.baseline_prediction.numpy(),
        data=e.inputs.numpy(),
        feature_names=list(e.feature_names),
        output_names=None if e.output_names is None else list(e.output_names),
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _outputs_last(values: Float[Tensor, "b *c d"]) -> NDArray[np.float64]:
    return (values.mT if values.ndim == 3 else values).numpy()
