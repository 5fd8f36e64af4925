"""The data of the what-if: the model, its columns, the explained rows as settings, and baselines."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from gplens.adapters.encoders import Encoder, OriginalRows, RawTable
from gplens.adapters.entries import Entries
from gplens.adapters.labels import EntryTexts
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
"""The most rows whose predictions are compared with those of the explanation."""
SAME = 1e-6
"""The largest accepted difference of predictions, relative to their size."""
MEDOID = 1000
"""The most rows among which the medoid is searched."""
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
    """The data of the what-if as JSON.

    Raises:
        NotLiveError: if there is no what-if; the message is the reason.
        ValueError: if the predictions of the model are not the explained ones.
    """
    e, encoder = explanation, reading.encoder
    names = e.feature_names if encoder is None else encoder.names
    if (len(names) != process.features and encoder is None) or names != e.feature_names:
        raise NotLiveError("the explanation is of groups of features, which have no sliders")
    spec = live_model(process, response, reading.likelihood if isinstance(target, Response) else None)
    explained = _entries(encoder, e.inputs, e.labels.inputs)
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


def _entries(encoder: Encoder | None, numbers: Float[Tensor, "b d"], texts: EntryTexts | None) -> Numbers:
    """Rows of an explanation in the form of the page."""
    return entries_of(encoder, numbers.numpy(), [] if texts is None else _texts(OriginalRows(numbers, texts)))


def _texts(shown: OriginalRows) -> list[list[str | None]]:
    """The texts of each column."""
    words = (*shown.texts.words, None)
    return [[words[code] for code in column] for column in shown.texts.codes[: len(shown.numbers)].T.tolist()]


def _read(encoder: Encoder | None, data: Any) -> tuple[Numbers, Float[Tensor, "b e"]]:
    """A user's table in the form of the page, and as inputs of the model."""
    if encoder is None:
        values = read_table(data, "data").values
        return values.numpy(), values
    table, original = encoder.read(data, "data")
    return entries_of(encoder, original.numbers.numpy(), _texts(original)), table.values


def _encoded(encoder: Encoder | None, rows: Numbers) -> Float[Tensor, "b e"]:
    """Rows in the form of the page as inputs of the model; NaN for categories outside the training table."""
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
    """Refuse a model whose predictions differ from those of the explanation."""
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
    """Baselines to choose from; that of the report is the first, if one of the candidates has its prediction."""
    mean, middle, average = table.mean(0, keepdim=True), _medoid(table), getattr(model, "mean_input_", None)
    candidates: list[tuple[Float[Tensor, "1 e"], Numbers | None]] = [(mean, None)]
    if average is not None:
        candidates.append((as_baseline(average, encoder).rows(table)[0], None))
    if not e.background:
        row = _entries(encoder, e.baseline[:1], e.labels.baseline)
        if not np.isnan(row).any():
            candidates.insert(0, (_encoded(encoder, row), row[0]))
    reported, options = e.baseline_prediction[:1].reshape(1, -1), []
    for candidate, setting in [] if e.background else candidates:
        ours = predictions(candidate)
        if ours.shape == reported.shape and bool(((ours - reported).abs() <= SAME * (1 + reported.abs())).all()):
            name = f"that of the report: {baseline_text(e.provenance.baseline)}"
            options = [_option("report", name, candidate, setting)]
            break
    options.append(_option("mean", f"the mean of {len(rows):,} rows", mean, None))
    name = "the medoid: the row that is nearest to all others"
    return [*options, _option("medoid", name, table[middle : middle + 1], rows[middle])]


def _option(key: str, name: str, inputs: Float[Tensor, "1 e"], setting: Numbers | None) -> dict[str, Any]:
    """A baseline: its inputs, and the entries of its columns if it is a row of a table."""
    entries = None if setting is None or np.isnan(setting).any() else setting.tolist()
    return {"id": key, "name": name, "inputs": inputs[0].tolist(), "setting": entries}


def _medoid(table: Float[Tensor, "b e"]) -> int:
    """The row with the smallest mean distance to the others, in standard deviations of the inputs."""
    chosen = sampled_rows(len(table), MEDOID)
    rows = table[chosen]
    scale = rows.std(0, correction=0)
    scaled = rows / torch.where(scale > 0, scale, 1.0)
    return int(chosen[torch.cdist(scaled, scaled).mean(1).argmin()])
