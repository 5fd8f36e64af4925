"""The page of an estimator: explain some rows of a table, and write the report with a what-if."""

from pathlib import Path
from typing import Any

import numpy as np

from gplens.adapters.tables import frame_of
from gplens.baselines import Medoid
from gplens.page import write
from gplens.page.report_data import sampled_rows
from gplens.uncertainty import Diagonal, Uncertainty

ROWS = 200
"""Rows of a page: enough for a picture of all, few enough that error bars take seconds."""

TYPICAL = 1000
"""Rows among which the medoid is sought."""


class WithPage:
    """The part of an estimator that writes pages."""

    def page(
        self: Any,
        X: Any,
        path: str | Path,
        *,
        targets: Any = None,
        baseline: Any = None,
        uncertainty: Uncertainty | None = Diagonal(),
        rows: int = ROWS,
        title: str | None = None,
        level: float = 0.9,
        total: int | None = None,
    ) -> Path:
        """Explain rows of a table and write one HTML file with a report and a live what-if (docs/PAGE.md).

        Args:
            X: a table with the columns that the model was fitted to; its histograms stand behind the sliders.
            path: the file to write; one that exists is replaced.
            targets: what was observed, so that rows can be sorted by the error of their predictions.
            baseline: as for `explain`; the medoid of X, a row that is typical of all, if None. The page names it.
            uncertainty: as for `explain`; None for a report without error bars.
            rows: the most rows that are explained. From a longer table a sample is taken, and the page says so.
            title: of the page.
            level: the probability of intervals.
            total: the number of rows of a larger table, from which X was taken evenly spaced, for the page to say so.

        Raises:
            ValueError: if there is not one target for each row.

        Example:
            >>> from pathlib import Path
            >>> page = GPRegressor.load(saved).page(frame, Path(saved) / "page.html", targets=y)
            >>> page.name
            'page.html'
        """
        count = len(X)
        if targets is not None and len(targets) != count:
            raise ValueError(f"expected {count} targets, one for each row of X, got {len(targets)}.")
        chosen, step = sampled_rows(count, rows), 1 if total is None else max(total // count, 1)
        explanation = self.explain(
            _some(X, chosen.numpy()),
            baseline=Medoid(_some(X, sampled_rows(count, TYPICAL).numpy())) if baseline is None else baseline,
            uncertainty=uncertainty,
            support=True,
        )
        observed = None if targets is None else np.asarray(targets)[chosen.numpy()]
        about: dict[str, Any] = {"model": self, "data": X, "targets": observed, "title": title, "level": level}
        return write(
            explanation, path, **about, positions=(step * chosen).tolist(), total=count if total is None else total
        )


def _some(X: Any, chosen: Any) -> Any:
    """Some rows of a frame or an array."""
    frame = frame_of(X, "X")
    return np.asarray(X)[chosen] if frame is None else frame[chosen.tolist()].to_native()
