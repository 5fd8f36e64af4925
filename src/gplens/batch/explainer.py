"""The batch function: from an Arrow table to an Arrow table, wherever it runs."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow
import torch
from torch import Tensor

from gplens.adapters.reading import read
from gplens.baselines import Inputs, as_baseline
from gplens.batch.batch_options import Options, baseline_of, feature_names, outputs_of, target_of
from gplens.batch.result_table import Layout, RowBlock
from gplens.batch.unexplainable import reasons
from gplens.estimators.base import GPEstimator
from gplens.estimators.loading import load
from gplens.explain import explain
from gplens.uncertainty import Diagonal


@final
class Explainer:
    """`Explainer(folder, options)(table)` explains every row of a table, with one row of results for each.

    It is pickled as the folder and the options, and loads the model when it is first needed. The result is determined
    by the folder, the options and the table, whose further columns are ignored. A row that cannot be explained has its
    reason in the column `error`, and nothing else.

    Args:
        folder: what `save` of an estimator wrote.
        options: what is computed; the defaults of `Options` if None.

    Example:
        >>> import pyarrow
        >>> table = pyarrow.table({"heat": [0.2, 0.9], "time": [0.4, 0.1]})
        >>> explainer = gplens.batch.Explainer(saved)  # `saved` is the folder of a GPRegressor
        >>> explainer(table).num_rows
        2
    """

    def __init__(self, folder: str | Path, options: Options | None = None) -> None:
        self.folder, self.options = Path(folder), Options() if options is None else options
        self._loaded: tuple[GPEstimator, Layout] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "options": self.options, "_loaded": None}

    def __repr__(self) -> str:
        return f"Explainer({str(self.folder)!r}, {self.options!r})"

    @property
    def model(self) -> GPEstimator:
        """The estimator, read from the folder on first use."""
        return self._load()[0]

    @property
    def layout(self) -> Layout:
        """The columns of every result."""
        return self._load()[1]

    def _load(self) -> tuple[GPEstimator, Layout]:
        if self._loaded is None:
            model = load(self.folder)
            self._loaded = model, Layout(feature_names(model), _output_names(model, self.options), self.options)
        return self._loaded

    def __call__(self, table: pyarrow.Table) -> pyarrow.Table:
        """One row of results for each row of the table.

        Raises:
            ValueError: a column of the model is missing, or holds entries of another kind than it was fitted to.
        """
        model, layout = self._load()
        rows = table.select(list(check_names(layout.features, table.column_names)))
        problems = reasons(model.columns_, rows)
        good = [i for i, problem in enumerate(problems) if problem is None]
        blocks = self._blocks(rows, good, problems)
        return layout.table(blocks, problems, table)

    def _blocks(self, rows: pyarrow.Table, numbers: Sequence[int], problems: list[str | None]) -> list[RowBlock]:
        """Explanations of some of the rows. If the call fails, halves are tried, down to the row that fails."""
        if not numbers:
            return []
        try:
            return [RowBlock(numbers, self._explain(rows.take(list(numbers))))]
        except (ArithmeticError, RuntimeError, ValueError) as cause:
            if len(numbers) == 1:
                problems[numbers[0]] = str(cause)
                return []
        middle = len(numbers) // 2
        return [block for half in (numbers[:middle], numbers[middle:]) for block in self._blocks(rows, half, problems)]

    def _explain(self, rows: pyarrow.Table) -> Any:
        model, options = self.model, self.options
        with warnings.catch_warnings(action="ignore", category=UserWarning):  # the columns of the result tell
            return model.explain(
                rows if model.columns_.named else np.column_stack([column.to_numpy() for column in rows.columns]),
                baseline=baseline_of(options.baseline, model),
                target=target_of(options.target),
                outputs=outputs_of(options.outputs, model),
                tolerance=options.tolerance,
                uncertainty=Diagonal() if options.uncertainty else None,
                support=False,
                progress=False,  # whoever calls counts the rows
            )


def check_names(expected: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The columns of the model, after a check that a table has them."""
    if missing := [name for name in expected if name not in names]:
        raise ValueError(f"expected the columns of the model, {list(expected)}, got {list(names)}: without {missing}.")
    return expected


def _output_names(model: GPEstimator, options: Options) -> tuple[str, ...] | None:
    """The outputs of all results, from an explanation of the average row; None for a single one.

    What does not suit the model, whatever the rows, is found here.
    """
    mean = _average(model)[None]
    reading = replace(read(model), encoder=None, columns=None)
    as_baseline(baseline_of(options.baseline, model), model.encoder)
    positions = model._positions(outputs_of(options.outputs, model))
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        target = target_of(options.target)
        probe = explain(reading, mean, baseline=mean[0], target=target, outputs=positions, support=False)
    return probe.output_names


def _average(model: GPEstimator) -> Tensor:
    mean = model.mean_input_
    return mean.values[0] if isinstance(mean, Inputs) else torch.from_numpy(mean)
