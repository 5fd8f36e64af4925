"""An explanation as text, which is its repr."""

from math import isnan

import torch
from torch import Tensor

from gplens.explanation.result import Explanation

ROWS = 2
"""The number of inputs that are shown."""
FEATURES = 10
"""The number of features of an input that are shown."""
GIVEN = 14
"""The smallest width of the column of input values, in characters."""
BAR = 16
"""The width of the longest bar, in characters."""


def describe(explanation: Explanation) -> str:
    """A headline, a table for each of the first inputs, and a line on accuracy."""
    e, p = explanation, explanation.provenance
    outputs = "" if e.output_names is None else f", {_count(len(e.output_names), 'output')}"
    head = f"Explanation of {_count(len(e), 'input')}{outputs}, {_count(len(e.feature_names), 'feature')}: "
    target = p.target if p.output is None else f"{p.target}, {p.output},"
    head += f"{target} of {p.model} relative to {p.baseline}{'' if e.std is None else ', +- 1 sd'}"
    if len(e) == 0:
        return head
    tables = [_table(e, i, _shown_output(e, i)) for i in range(min(ROWS, len(e)))]
    more = f"... {len(e) - ROWS} more inputs; explanation[i] shows one" if len(e) > ROWS else ""
    path = "\n".join(f"  {text}" for text in (p.path, p.remark) if text is not None)
    support = "" if e.support is None else f"  {e.support.describe()}"
    return "\n".join(part for part in (head, *tables, more, _background(e), quality(e), support, path) if part)


def _shown_output(e: Explanation, i: int) -> int | None:
    """The output with the largest prediction; None if there is only one."""
    return None if e.output_names is None else int(e.prediction[i].argmax())


def _table(e: Explanation, i: int, j: int | None) -> str:
    """Features by the size of their attributions, with bars on one scale."""
    at = (i,) if j is None else (i, j)
    values, start, end = e.values[at], float(e.baseline_prediction[at]), float(e.prediction[at])
    label = "" if j is None or e.output_names is None else f", {e.output_names[j]}"
    row = "" if e.labels.rows is None else f" ({e.labels.rows[i]})"
    lines = [f"  input {i}{row}{label}: baseline {start:.6g} -> prediction {end:.6g} ({end - start:+.6g})"]
    order = values.abs().argsort(descending=True).tolist()
    width = max(len(e.feature_names[k]) for k in order[:FEATURES])
    largest = max(float(values.abs().max()), torch.finfo(values.dtype).tiny)
    widest = max(GIVEN, *(len(_given(e, i, k)) for k in order[:FEATURES]))
    for k in order[:FEATURES]:
        value, given = float(values[k]), _given(e, i, k)
        bar = ("+" if value > 0 else "-") * round(BAR * abs(value) / largest)
        deviation = "" if e.std is None else f" +- {float(e.std[(*at, k)]):<9.3g}"
        parts = _parts(e, (*at, k))
        line = f"    {e.feature_names[k]:<{width}} {given:<{widest}} {value:>+12.5g}{deviation}{parts}  {bar}"
        lines.append(line.rstrip())
    if len(order) > FEATURES:
        rest = float(values[order[FEATURES:]].sum())
        lines.append(f"    {_count(len(order) - FEATURES, 'other feature')}: {rest:+.5g}")
    return "\n".join(lines)


def _parts(e: Explanation, at: tuple[int, ...]) -> str:
    """The parts of an attribution that come through each channel."""
    if e.channels is None:
        return ""
    return " = " + " ".join(f"{float(part[at]):>+11.4g} {name}" for name, part in e.channels.items())


def _given(e: Explanation, i: int, k: int) -> str:
    """The value of an input: its text, with the baseline's text if that differs, or its number; empty for a group."""
    text, number = e.labels.input_text(i, k), float(e.inputs[i, k])
    start = None if e.background else e.labels.baseline_text(i, k)
    if text is not None and start is not None and start != text:
        return f"= {text} (from {start})"
    return f"= {text}" if text is not None else "" if isnan(number) else f"= {number:.6g}"


def _background(e: Explanation) -> str:
    """A line on how much attributions differ between the rows of a background."""
    if e.background_std is None or bool(e.background_std.isnan().all()):
        return ""
    deviations = e.background_std.nan_to_num().reshape(-1, len(e.feature_names)).amax(0)  # NaN for later groups
    k = int(deviations.argmax())
    return f"  over the rows of the background {e.feature_names[k]} varies most, by +- {float(deviations[k]):.3g}"


def quality(e: Explanation) -> str:
    """A line on how well the attributions add up, and whether they converged."""
    parts = [f"largest |gap| {float(e.gap.abs().max()):.1e}"]
    if e.error is not None:
        parts.append(f"largest estimated error {float(e.error.max()):.1e}")
    if e.standard_error is not None:
        parts.append(f"largest Monte Carlo standard error {float(e.standard_error.max()):.1e}")
    parts.append(f"{_range(e.nodes)} path nodes")
    of_spread = None if e.spread is None else e.spread.converged
    for what, converged in (("", e.converged), ("STANDARD DEVIATIONS ", of_spread)):
        if converged is not None and not bool(converged.all()):
            parts.append(f"{what}NOT CONVERGED for {int((~converged).sum())} of {_count(len(e), 'input')}")
    return "  " + ", ".join(parts)


def _range(nodes: Tensor) -> str:
    low, high = int(nodes.min()), int(nodes.max())
    return str(low) if low == high else f"{low} to {high}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
