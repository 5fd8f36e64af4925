"""Explanations as pandas frames."""

from typing import TYPE_CHECKING

import pandas
import torch
from torch import Tensor

if TYPE_CHECKING:
    from gplens.explanation import Explanation


def to_frame(explanation: "Explanation") -> pandas.DataFrame:
    """Long form: a row for each input, output and feature."""
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
        if (own := getattr(e, name)) is not None:
            columns[name] = own.flatten().numpy()
    for name in ("prediction", "baseline_prediction", "gap"):
        columns[name] = _each(getattr(e, name), row, output).numpy()
    return pandas.DataFrame(columns)


def _each(by_output: Tensor, row: Tensor, output: Tensor) -> Tensor:
    return by_output[row] if by_output.ndim == 1 else by_output[row, output]
