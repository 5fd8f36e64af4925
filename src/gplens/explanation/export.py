"""Explanations as frames and as shap's explanations. narwhals and shap are imported on first use."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from gplens.explanation.result import Explanation

if TYPE_CHECKING:
    import shap


def to_frame(explanation: Explanation, level: float) -> Any:
    """Long form, a row for each input, output and feature, as a frame of the library of the inputs, or of pandas."""
    frame = frame_of(_columns(explanation, level), explanation.frame_backend)
    if explanation.labels.rows is not None and explanation.frame_backend in (None, "pandas"):
        frame.index = [explanation.labels.rows[i] for i in frame["row"]]
    return frame


def frame_of(columns: dict[str, Any], backend: str | None) -> Any:
    """Columns as a frame of the given library; of pandas if None."""
    import narwhals

    library: Any = backend or "pandas"
    try:
        return narwhals.from_dict(columns, backend=library).to_native()
    except ModuleNotFoundError as cause:
        raise ImportError(
            f"expected {library} to be installed for to_frame(), got no module {cause.name}. Run pip install {library}."
        ) from cause


def _columns(e: Explanation, level: float) -> dict[str, Any]:
    b, d, c = len(e), len(e.feature_names), 1 if e.output_names is None else len(e.output_names)
    row, output, feature = (grid.flatten() for grid in torch.meshgrid(*map(torch.arange, (b, c, d)), indexing="ij"))
    columns: dict[str, Any] = {"row": row.numpy()}
    if e.output_names is not None:
        columns["output"] = [e.output_names[i] for i in output.tolist()]
    columns["feature"] = [e.feature_names[i] for i in feature.tolist()]
    columns["input"] = e.inputs[row, feature].numpy()
    if not e.background:
        columns["baseline"] = e.baseline[row, feature].numpy()
    places = list(zip(row.tolist(), feature.tolist(), strict=True))
    if e.labels.inputs is not None:
        columns["input_label"] = [e.labels.input_text(i, k) for i, k in places]
    if e.labels.baseline is not None and not e.background:
        columns["baseline_label"] = [e.labels.baseline_text(i, k) for i, k in places]
    columns["attribution"] = e.values.flatten().numpy()
    for name in ("std", "std_error", "error", "standard_error"):
        if (values := getattr(e, name)) is not None:
            columns[name] = values.flatten().numpy()
    for name, part in ({} if e.channels is None else e.channels).items():
        columns[f"channel {name}"] = part.flatten().numpy()
    if e.spread is not None and e.spread.has_interval:
        bounds = (*e.interval(level), e.probability_positive())
        for name, values in zip(("lower", "upper", "probability_positive"), bounds, strict=True):
            columns[name] = values.flatten().numpy()
    for name in ("prediction", "baseline_prediction", "gap"):
        by_output = getattr(e, name)
        columns[name] = (by_output[row] if by_output.ndim == 1 else by_output[row, output]).numpy()
    return columns


def to_shap(explanation: Explanation, level: float) -> "shap.Explanation":
    """Values (b, d), or (b, d, c): shap has outputs last. With bounds if the posterior distribution is known."""
    try:
        import shap
    except ModuleNotFoundError as cause:
        raise ImportError(
            f"expected shap to be installed for to_shap(), got no module {cause.name}. Run pip install shap."
        ) from cause
    e = explanation
    has_interval = e.spread is not None and e.spread.has_interval
    lower, upper = map(outputs_last, e.interval(level)) if has_interval else (None, None)
    return shap.Explanation(
        values=outputs_last(e.values),
        base_values=e.baseline_prediction.numpy(),
        data=e.inputs.numpy(),
        display_data=_display(e),
        feature_names=list(e.feature_names),
        output_names=None if e.output_names is None else list(e.output_names),
        lower_bounds=lower,
        upper_bounds=upper,
    )


def _display(e: Explanation) -> NDArray[Any] | None:
    """The inputs, with texts in place of numbers that have one; None if no input has a text."""
    if e.labels.inputs is None:
        return None
    display = e.inputs.numpy().astype(object)
    for i, k in (e.labels.inputs.codes >= 0).nonzero().tolist():
        display[i, k] = e.labels.input_text(i, k)
    return display


def outputs_last(values: Float[Tensor, "b *c d"]) -> NDArray[np.float64]:
    """(b, d), or (b, d, c)."""
    return (values.mT if values.ndim == 3 else values).numpy()
