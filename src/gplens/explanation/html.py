"""An explanation as a table in HTML, which a notebook shows by itself."""

from gplens.display.card import Bars, Entry, card
from gplens.display.marks import by_size, marks, of_output, output_name, output_of, split
from gplens.display.wording import aligned, baseline_text, decimals, entry_text, target_text, told_apart, with_deviation
from gplens.explanation.result import Explanation
from gplens.explanation.text import FEATURES, ROWS, quality

LEVEL = 0.9


def describe_html(explanation: Explanation) -> str:
    """What was explained, a table with bars for each of the first inputs, and how well the numbers add up."""
    e, count = explanation, len(explanation)
    title = target_text(e.provenance, None)
    inputs = f"{count:,} input{'' if count == 1 else 's'}, relative to {baseline_text(e.provenance.baseline)}"
    tables = [_table(e, row) for row in range(min(ROWS, count))]
    notes = [] if count == 0 else [quality(e)]
    notes += [] if e.provenance.remark is None else [e.provenance.remark]
    if count > ROWS:
        notes.insert(0, f"{count - ROWS:,} more inputs; explanation[i] shows one")
    return card(f"Explanation: {title}", [], [Bars(inputs, []), *tables], notes)


def _table(e: Explanation, row: int) -> Bars:
    """The largest attributions of an input and the sum of the remaining ones, for the output with the largest value."""
    j = output_of(e, None, row)
    shown = marks(e, j, [row], split(by_size(of_output(e.values, j)[row : row + 1]), FEATURES), LEVEL)
    values = shown.values[0].tolist()
    places = decimals(max(map(abs, values), default=0.0))
    entries, names = [], told_apart(shown.names, 40)
    for i, group in enumerate(shown.columns):
        k = group[0]
        given = entry_text(e.labels.input_text(row, k), float(e.inputs[row, k])) if len(group) == 1 else None
        low, high = (None if part is None else float(part[0, i]) for part in (shown.low, shown.high))
        text = with_deviation(values[i], shown.deviation(0, i), places)
        if e.channels is not None:
            parts = ((name, float(of_output(part, j)[row, group].sum())) for name, part in e.channels.items())
            text += " = " + ", ".join(f"{aligned(part, places, sign=True)} {name}" for name, part in parts)
        entries.append(Entry(names[i], given or "", text, values[i], low, high))
    start, end = (float(of_output(part, j)[row]) for part in (e.baseline_prediction, e.prediction))
    digits, name = decimals(max(abs(start), abs(end))), output_name(e, j)
    change = f"baseline {aligned(start, digits)} → prediction {aligned(end, digits)}"
    where = f"input {row}" if name is None else f"input {row}, {name}"
    return Bars(f"{where}: {change}; {shown.caption}", entries)
