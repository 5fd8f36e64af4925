"""An explanation of one arm as a card of Ax: a table, and bars with error bars in Plotly."""

from math import isnan

import pandas
from ax.analysis.plotly.color_constants import COLOR_FOR_DECREASES, COLOR_FOR_INCREASES
from ax.analysis.plotly.plotly_analysis import PlotlyAnalysisCard, create_plotly_analysis_card
from ax.core.analysis_card import AnalysisCardBase, AnalysisCardGroup
from plotly import graph_objects

from gplens.display.wording import number
from gplens.explanation import Explanation

INTERVAL = 1.96
"""The half width of a 95 % interval, as on other cards of Ax, in standard deviations."""


def attribution_table(explanation: Explanation) -> pandas.DataFrame:
    """A row for each parameter, the largest attribution first."""
    e = explanation
    std = None if e.spread is None or e.spread.std is None else e.spread.std[0]
    rows = [
        {
            "parameter_name": name,
            "value": entry(e, k),
            "attribution": float(e.values[0, k]),
            "std": float("nan") if std is None else float(std[k]),
            **{channel: float(values[0, k]) for channel, values in (e.channels or {}).items()},
        }
        for k, name in enumerate(e.feature_names)
    ]
    table = pandas.DataFrame(rows)
    order = table.attribution.abs().sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def entry(explanation: Explanation, k: int) -> str:
    """The value of a parameter as text."""
    text = explanation.labels.input_text(0, k)
    return number(float(explanation.inputs[0, k])) if text is None else text


def arm_cards(
    name: str, title: str, titles: list[str], subtitle: str, explanation: Explanation, what: str
) -> AnalysisCardBase:
    """A card for a single arm, a group of cards for several."""
    if explanation.converged is not None and not bool(explanation.converged.all()):
        subtitle += f" NOT CONVERGED: the bars miss the difference by up to {float(explanation.gap.abs().max()):.2g}."
    cards = [waterfall_card(name, arm_title, subtitle, explanation[i], what) for i, arm_title in enumerate(titles)]
    return cards[0] if len(cards) == 1 else AnalysisCardGroup(name=name, title=title, subtitle=subtitle, children=cards)


def waterfall_card(name: str, title: str, subtitle: str, explanation: Explanation, what: str) -> PlotlyAnalysisCard:
    """Bars from the prediction at the baseline to that at the arm."""
    table = attribution_table(explanation)
    start, end = float(explanation.baseline_prediction[0]), float(explanation.prediction[0])
    figure = _bars(table, start)
    entries = zip(table["parameter_name"], table["value"], strict=True)
    labels = ["baseline", *(f"{parameter} = {value}" for parameter, value in entries), "this arm"]
    numbers = [f"= {start:.4g}", *_with_std(table), f"= {end:.4g}"]
    last = len(labels) - 1
    ends = {"mode": "markers", "marker_color": "black", "hoverinfo": "x"}
    figure.add_trace(graph_objects.Scatter(x=[start, end], y=[0, last], **ends))
    for row, text in enumerate(numbers):
        figure.add_annotation(x=1, xref="paper", y=row, text=text, showarrow=False, xanchor="left", xshift=6)
    figure.update_layout(
        xaxis_title=what,
        yaxis={"tickvals": list(range(len(labels))), "ticktext": labels, "range": [last + 0.6, -0.6]},
        showlegend=False,
        margin={"t": 50, "r": 150},
    )
    return create_plotly_analysis_card(name=name, title=title, subtitle=subtitle, df=table, fig=figure)


def _bars(table: pandas.DataFrame, start: float) -> graph_objects.Figure:
    """Bars below each other, each beginning where the previous one ends, with intervals."""
    begins = start + table.attribution.cumsum().shift(fill_value=0.0)
    has_std = bool(table["std"].notna().any())
    spread = {"type": "data", "array": (INTERVAL * table["std"]).tolist()} if has_std else None
    colours = [COLOR_FOR_INCREASES if value >= 0 else COLOR_FOR_DECREASES for value in table.attribution]
    bars = graph_objects.Bar(
        x=table.attribution.tolist(),
        y=list(range(1, len(table) + 1)),
        base=begins.tolist(),
        orientation="h",
        error_x=spread,
        marker_color=colours,
        hovertext=_with_std(table),
        hoverinfo="text",
    )
    return graph_objects.Figure(bars)


def _with_std(table: pandas.DataFrame) -> list[str]:
    """Each attribution as a text, with its standard deviation if it is known."""
    pairs = zip(table["attribution"].tolist(), table["std"].tolist(), strict=True)
    return [f"{value:+.3g}" if isnan(std) else f"{value:+.3g} ± {std:.2g}" for value, std in pairs]
