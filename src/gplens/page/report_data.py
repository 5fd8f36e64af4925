"""The data of the report as JSON: rows, attributions with intervals, quality, provenance."""

import platform
import re
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gplens.display.marks import Attributions, marks
from gplens.display.wording import baseline_text, target_text
from gplens.page.joint_marks import contrasts, mean_sizes
from gplens.page.packing import finite, floats

MOST_ROWS = 1000
"""The most rows of a page; of more rows a sample is taken."""


def sampled_rows(count: int, most: int = MOST_ROWS) -> Tensor:
    """The rows of the page: all, or a sample that depends only on their number."""
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=torch.Generator().manual_seed(0))[:most].sort().values


def report(explanation: Any, level: float, targets: Any, rows: Tensor) -> dict[str, Any]:
    """The report of the given rows of an explanation."""
    e, p = explanation, explanation.provenance
    part = e[rows]
    return {
        "title": target_text(p, None),
        "baseline": baseline_text(p.baseline),
        "background": e.background,
        "features": list(e.feature_names),
        "outputs": None if e.output_names is None else list(e.output_names),
        "total": len(e),
        "numbers": rows.tolist(),
        "names": None if part.labels.rows is None else [str(name) for name in part.labels.rows],
        "prediction": floats(part.prediction),
        "start": floats(part.baseline_prediction),
        "gap": floats(part.gap),
        "error": None if part.error is None else floats(part.error.flatten(1).amax(1)),
        "nodes": part.nodes.tolist(),
        "converged": None if part.converged is None else part.converged.tolist(),
        **_support(part),
        "inputs": _entries(part.inputs, part.labels.inputs),
        "origin": None if e.background else _entries(part.baseline[:1], part.labels.baseline),
        "one_baseline": not e.background and bool((_same(e.baseline) | e.baseline.isnan()).all()),
        "targets": None if targets is None else _targets(targets, rows),
        "of_class": None if targets is None else _of_class(targets, rows, p),
        **_marks(part, level),
        **contrasts(part, level),
        "sizes": mean_sizes(part, level),
        "channels": _channels(part),
        "acquisition": p.acquisition,
        "level": level,
        "quality": _quality(e),
        "facts": _facts(e),
    }


def _channels(part: Any) -> list[dict[str, Any]]:
    """The parts of all attributions by channel; an empty list if channels were not computed."""
    return [{"name": name, "values": floats(values)} for name, values in (part.channels or {}).items()]


def _support(part: Any) -> dict[str, Any]:
    """How far the data determine the model along each path, and at the baseline of the first row."""
    support = part.support
    if support is None:
        return {"support": None, "prior_share": None, "distance": None, "baseline_std": None}
    share, std = support.total_prior_share, support.baseline_std
    return {
        "support": [[round(s, 4) for s in row] for row in support.along.tolist()],
        "prior_share": None if share is None else floats(share),
        "distance": None if support.distance is None else finite(support.distance[0]),
        "baseline_std": None if std is None else [finite(s) for s in std[0].reshape(-1)],
    }


def _same(baseline: Tensor) -> Tensor:
    return baseline == baseline[:1]


def _entries(numbers: Tensor, texts: Any) -> dict[str, Any]:
    """A table: numbers, and texts of the entries that have one."""
    codes = None if texts is None else texts.codes[: len(numbers)].tolist()
    return {"numbers": floats(numbers), "words": [] if texts is None else list(texts.words), "codes": codes}


def _targets(targets: Any, rows: Tensor) -> list[Any]:
    """The observed targets, as numbers or texts."""
    observed = np.asarray(targets)[rows.numpy()]
    return [finite(y) if isinstance(y, float | int) else str(y) for y in observed.tolist()]


def _of_class(targets: Any, rows: Tensor, p: Any) -> list[bool] | None:
    """Whether each row was observed in the explained class; None if the target is not the probability of a class."""
    named = re.fullmatch(r"P\(y = (.*)\)", p.output or "", re.DOTALL)
    if named is None or p.target != "Response()":
        return None
    observed = np.asarray(targets)[rows.numpy()].tolist()
    texts = [f"{y:g}" if isinstance(y, float) and y == round(y) else str(y) for y in observed]
    return [named[1] in (text, f"class {text}", f"class {y}") for text, y in zip(texts, observed, strict=True)]


def _marks(part: Attributions, level: float) -> dict[str, Any]:
    """Attributions (rows, outputs, features) and the ends of their intervals."""
    columns = tuple([k] for k in range(len(part.feature_names)))
    outputs = [None] if part.output_names is None else list(range(len(part.output_names)))
    bars = [marks(part, j, slice(None), columns, level) for j in outputs]
    low = [output.low for output in bars if output.low is not None]
    high = [output.high for output in bars if output.high is not None]
    return {
        "values": floats(np.stack([output.values for output in bars], axis=1)),
        "low": floats(np.stack(low, axis=1)) if low else None,
        "high": floats(np.stack(high, axis=1)) if high else None,
        "interval": bars[0].interval,
    }


def _quality(e: Any) -> dict[str, Any]:
    """The accuracy of the numbers over all rows, including those outside the sample."""
    spread = None if e.spread is None else e.spread.converged
    return {
        "gap": finite(e.gap.abs().max()) if len(e) else 0.0,
        "error": None if e.error is None or not len(e) else finite(e.error.max()),
        "monte_carlo": None if e.standard_error is None else finite(e.standard_error.max()),
        "missed": 0 if e.converged is None else int((~e.converged).sum()),
        "missed_bars": 0 if spread is None else int((~spread).sum()),
        "nodes": [int(e.nodes.min()), int(e.nodes.max())] if len(e) else [0, 0],
    }


def _facts(e: Any) -> list[tuple[str, str]]:
    """Settings, versions and a fingerprint of the data, by name."""
    p = e.provenance
    digest = sha256()
    for tensor in (e.inputs, e.baseline, e.values):
        digest.update(np.ascontiguousarray(tensor.numpy(), dtype="<f8").tobytes())
    facts = [
        ("model", p.model),
        ("likelihood", p.likelihood or "none"),
        ("target", p.target),
        ("baseline", p.baseline),
        ("rule", p.rule),
        ("tolerance", f"{p.tolerance:g}"),
        ("gradients", p.gradients if p.remark is None else p.remark),
        ("path", p.path or "straight in the features"),
        ("gplens", p.version),
        ("Python, PyTorch", f"{platform.python_version()}, {version('torch')}"),
        ("SHA-256 of inputs, baseline and attributions", digest.hexdigest()),
    ]
    return facts + [("note", note) for note in p.notes]
