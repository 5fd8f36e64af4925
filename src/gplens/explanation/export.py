"""Explanations as frames, and as shap's explanations; pandas and shap are loaded when they are asked for."""

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

if TYPE_CHECKING:
    import pandas
    import shap

    from gplens.explanation.result import Explanation


def to_frame(explanation: "Explanation") -> "pandas.DataFrame":
    """Long form: a row for each input, output and feature."""
    import pandas

    e = explanation
    b, d, c = len(e), len(e.feature_names), 1 if e.output_names is None else len(e.output_names)
    row, output, feature = (grid.flatten() for grid in torch.meshgrid(*map(torch.arange, (b, c, d)), indexing="ij"))
    columns: dict[str, object] = {"row": row.numpy()}
    if e.output_names is not None:
        columns["output"] = [e.output_names[i] for i in output.tolist()]
    columns["feature"] = [e.feature_names[i] for i in feature.tolist()]
    columns["input"] = e.inputs[row, feature].numpy()
    if not e.background:
        columns["baseline"] = e.baseline[row, feature].numpy()
    columns["attribution"] = e.values.flatten().numpy()
    for name in ("std", "std_error", "error", "standard_error"):
        if (values := getattr(e, name)) is not None:
            columns[name] = values.flatten().numpy()
    for name in ("prediction", "baseline_prediction", "gap"):
        columns[name] = _by_feature(getattr(e, name), row, output).numpy()
    return pandas.DataFrame(columns)


def _by_feature(by_output: Tensor, row: Tensor, output: Tensor) -> Tensor:
    return by_output[row] if by_output.ndim == 1 else by_output[row, output]


def to_shap(explanation: "Explanation", level: float) -> "shap.Explanation":
    """Values (b, d), or (b, d, c): shap has outputs last. Bounds where the posterior distribution is known."""
    import shap

    e = explanation
    has_interval = e.draws is not None or (e.gaussian and e.std is not None)
    lower, upper = map(_outputs_last, e.interval(level)) if has_interval else (None, None)
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
