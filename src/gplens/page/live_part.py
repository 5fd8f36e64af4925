"""What the what-if needs: the model, its columns with their data, the explained rows as settings, and baselines."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows, RawTable
from gplens.adapters.entries import Entries
from gplens.adapters.reading import Reading
from gplens.adapters.tables import read_table
from gplens.baselines import as_baseline
from gplens.columns.category import CategoryColumn, DroppedColumn
from gplens.columns.column_plan import ColumnPlan
from gplens.columns.scalar import ScalarColumn
from gplens.display.wording import baseline_text
from gplens.expectations.expectation import Expectation
from gplens.page.control_specs import control_specs, entries_of
from gplens.page.kernel_specs import NotLiveError
from gplens.page.model_specs import live_model
from gplens.page.packing import floats
from gplens.page.report_data import sampled_rows
from gplens.processes.process import Process
from gplens.targets import Response, Target

COMPARED = 16
"""Rows whose predictions are compared with those of the explanation."""
SAME = 1e-6
"""The largest difference of the two, relative to their size."""
MEDOID = 1000
"""Rows among which the medoid is sought."""
Predictions = Callable[[Float[Tensor, "b e"]], Float[Tensor, "b o"]]
Numbers = NDArray[np.float64]


def live_part(
    explanation: Any,
    model: Any,
    reading: Reading,
    process: Process,
    response: Expectation,
    target: Target,
    data: Any,
    chosen: Int[Tensor, " k"],
    predictions: Predictions,
) -> dict[str, Any]:
    """All of it as JSON.

    Raises:
        NotLiveError: why there is none.
        ValueError: the model is not the one that was explained.
    """
    e, encoder = explanation, reading.encoder
    names = e.feature_names if encoder is None else encoder.names
    if (len(names) != process.features and encoder is None) or names != e.feature_names:
        raise NotLiveError("the explanation is of groups of features, which have no sliders")
    spec = live_model(process, response, reading.likelihood if isinstance(target, Response) else None)
    shown = OriginalRows(e.inputs, e.labels.inputs) if e.labels.inputs is not None else None
    explained = entries_of(encoder, e.inputs.numpy(), [] if shown is None else _texts(shown))
    rows, table = explained, _encoded(encoder, explained)
    _check(e, _outputs(reading, response, process.latents), table, predictions)
    if data is not None:
        rows, table = _read(encoder, data)
    return {
        **spec,
        "columns": control_specs(encoder, names, rows),
        "outputs": list(_outputs(reading, response, process.latents)),
        "rows": floats(explained[chosen.numpy()]),
        "baselines": _baselines(e, encoder, model, rows, table, predictions),
        "data": f"{len(rows):,} rows",
    }


def _outputs(reading: Reading, response: Expectation, latents: int) -> tuple[str, ...]:
    names = response.names(latents)
    given = None if reading.likelihood is None else reading.likelihood.outputs
    return given if given is not None and len(given) == len(names) else names


def _texts(shown: OriginalRows) -> list[list[str | None]]:
    """The texts of each column."""
    words = (*shown.texts.words, None)
    return [[words[code] for code in column] for column in shown.texts.codes.T.tolist()]


def _read(encoder: Encoder | None, data: Any) -> tuple[Numbers, Float[Tensor, "b e"]]:
    """A user's table as the page has it, and as inputs of the model."""
    if encoder is None:
        values = read_table(data, "data").values
        return values.numpy(), values
    table, original = encoder.read(data, "data")
    return entries_of(encoder, original.numbers.numpy(), _texts(original)), table.values


def _encoded(encoder: Encoder | None, rows: Numbers) -> Float[Tensor, "b e"]:
    """Rows of the page as inputs of the model; NaN in the columns of categories that the model has not seen."""
    if not isinstance(encoder, ColumnPlan):
        return torch.from_numpy(rows)
    columns = []
    for k, column in enumerate(encoder.columns):
        if isinstance(column, CategoryColumn):
            texts = [None if np.isnan(i) else column.categories[int(i)] for i in rows[:, k]]
            columns.append(Entries(column.name, "text", np.array([*texts, None], dtype=object)[:-1]))
            if column.family != "text":
                columns[-1] = Entries(column.name, column.family, np.array([_number(text) for text in texts]))
        elif isinstance(column, DroppedColumn):
            columns.append(Entries(column.name, "number", rows[:, k]))
        else:
            assert isinstance(column, ScalarColumn)
            columns.append(Entries(column.name, column.family, rows[:, k], column.zone))
    return torch.from_numpy(encoder.encode(RawTable(tuple(columns), encoder.names, len(rows))))


def _number(text: str | None) -> float:
    """The number that a category of numbers or booleans stands for."""
    if text is None:
        return np.nan
    return {"True": 1.0, "False": 0.0}[text] if text in ("True", "False") else float(text)


def _check(e: Any, outputs: tuple[str, ...], table: Float[Tensor, "b e"], predictions: Predictions) -> None:
    """Refuse a model that does not predict what the explanation says."""
    chosen = torch.linspace(0, len(e) - 1, min(len(e), COMPARED)).long()
    ours = predictions(table[chosen])
    theirs = e.prediction[chosen].reshape(len(chosen), -1)
    if e.output_names is not None and set(e.output_names) <= set(outputs):
        ours = ours[:, [outputs.index(name) for name in e.output_names]]
    size = float(theirs.abs().max())
    if ours.shape != theirs.shape or not bool(((ours - theirs).abs() <= SAME * (1 + size)).all()):
        raise ValueError(
            f"expected the model that was explained, which predicts {float(theirs[0, 0]):.6g} for the first row, got "
            f"one that predicts {float(ours[0, 0]):.6g}; pass the model, and the likelihood, of the explanation."
        )


def _baselines(
    e: Any, encoder: Encoder | None, model: Any, rows: Numbers, table: Float[Tensor, "b e"], predictions: Predictions
) -> list[dict[str, Any]]:
    """Baselines to choose from, the one of the report first, if it can be found again."""
    mean = table.mean(0, keepdim=True)
    candidates = [mean]
    average = getattr(model, "mean_input_", None)
    if average is not None:
        candidates.append(as_baseline(average, encoder).rows(table)[0])
    if not e.background and not bool(e.baseline[:1].isnan().any()):
        candidates.insert(0, _encoded(encoder, e.baseline[:1].numpy()))
    start = e.baseline_prediction[:1].reshape(1, -1)
    found = []
    for candidate in candidates if not e.background else []:
        ours = predictions(candidate)
        if ours.shape == start.shape and bool(((ours - start).abs() <= SAME * (1 + start.abs())).all()):
            name = f"that of the report: {baseline_text(e.provenance.baseline)}"
            found = [{"id": "report", "name": name, "inputs": candidate[0].tolist()}]
            break
    found.append({"id": "mean", "name": f"the mean of {len(rows):,} rows", "inputs": mean[0].tolist()})
    middle = _medoid(table)
    name = "the medoid: the row that is nearest to all others"
    return [*found, {"id": "medoid", "name": name, "inputs": table[middle].tolist()}]


def _medoid(table: Float[Tensor, "b e"]) -> int:
    """The row with the least mean distance to the others, in deviations of the inputs."""
    chosen = sampled_rows(len(table), MEDOID)
    rows = table[chosen]
    scale = rows.std(0, correction=0)
    scaled = rows / torch.where(scale > 0, scale, 1.0)
    return int(chosen[torch.cdist(scaled, scaled).mean(1).argmin()])
