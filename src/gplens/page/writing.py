"""Write the page of an explanation."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from gplens.adapters.reading import Reading, read
from gplens.display.marks import check_level
from gplens.lines.line import Line
from gplens.page.html_file import page_html
from gplens.page.kernel_specs import NotLiveError
from gplens.page.live_part import live_part
from gplens.page.report_data import MOST_ROWS, report, sampled_rows
from gplens.targets import Latent, Response, bind_target


def write(
    explanation: Any,
    path: str | Path,
    *,
    model: Any = None,
    likelihood: Any = None,
    data: Any = None,
    targets: Any = None,
    title: str | None = None,
    level: float = 0.9,
    rows: int = MOST_ROWS,
    positions: Sequence[int] | None = None,
    total: int | None = None,
) -> Path:
    """Write one HTML file with the report of an explanation and, if the page can evaluate the given model, a what-if.

    The file opens from disk, makes no requests and runs only the scripts that it contains (docs/PAGE.md).

    Args:
        explanation: the result of `gplens.explain`.
        path: the file to write; an existing one is replaced.
        model: the explained model, for the what-if. The page says why, if there is none.
        likelihood: as for `gplens.explain`.
        data: a table in the columns of the explanation, for the ranges and histograms of the sliders; the explained
            rows if None.
        targets: the observed target of each row, so that rows can be sorted by the error of their predictions.
        title: the title of the page; the explained target if None.
        level: the probability of intervals.
        rows: the most rows of the page; of more rows a sample is taken, and the page says so.
        positions: the numbers of the explained rows in the table that they were taken from; 0, 1, ... if None.
        total: the number of rows of that table; that of the explanation if None.

    Raises:
        ValueError: if there are no rows, targets and rows differ in number, or the predictions of the model are not the
            explained ones.

    Returns:
        The path of the file.

    Example:
        >>> import tempfile
        >>> path = gplens.page.write(explanation, tempfile.mkdtemp() + "/report.html", title="Two inputs")
        >>> path.name
        'report.html'
    """
    level = check_level(level)
    if len(explanation) == 0:
        raise ValueError("expected an explanation of at least one input for a page, got none; explain some rows.")
    if targets is not None and len(targets) != len(explanation):
        raise ValueError(
            f"expected {len(explanation)} targets, one for each input, got {len(targets)}; pass y of the same rows."
        )
    chosen = sampled_rows(len(explanation), rows)
    about = report(explanation, level, targets, chosen)
    about["total"] = len(explanation) if total is None else total
    if positions is not None:
        about["numbers"] = [int(positions[i]) for i in chosen.tolist()]
    content: dict[str, Any] = {"report": about, "live": None}
    try:
        content["live"] = _live(explanation, model, likelihood, data, chosen)
        content["why_not"] = None
    except NotLiveError as reason:
        content["why_not"] = str(reason)
    name = title or f"Why? The {about['title']}"
    content |= {"title": name, "output": explanation.provenance.output or ""}
    return _replace(Path(path), page_html(content, name))


def _live(explanation: Any, model: Any, likelihood: Any, data: Any, chosen: Int[Tensor, " k"]) -> dict[str, Any]:
    """The data of the what-if."""
    if model is None:
        raise NotLiveError("the page was written without the model; pass model= to have them")
    target = {"Response()": Response(), "Latent()": Latent()}.get(explanation.provenance.target)
    if target is None:
        raise NotLiveError(f"it explains {explanation.provenance.target}, not the expected response or the latent mean")
    reading = model if isinstance(model, Reading) and likelihood is None else read(model, likelihood)
    if reading.draws is not None:
        raise NotLiveError("it is an average over draws of hyper-parameters")
    process, response = bind_target(target, reading.likelihood, reading.process, None, reading.model)

    def predictions(X: Float[Tensor, "b e"]) -> Float[Tensor, "b o"]:
        at = process.along(Line.at(X))
        count = response.count(process.latents)
        return response.jet(at, tuple(range(count))).value[:, :, 0]

    with torch.no_grad():
        return live_part(explanation, model, reading, process, response, target, data, chosen, predictions)


def _replace(path: Path, text: str) -> Path:
    """Write beside the file, then replace it, so that nobody reads an incomplete page."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return path
