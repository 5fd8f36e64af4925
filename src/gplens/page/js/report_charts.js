// Charts of the report: sizes over all rows, all attributions, and the support along a path.
import { axisNumber, bandLabels, drawn, INK, labelMargin, LOWERS, QUIET, shortened } from "./charts.js";
import { numberText } from "./columns.js";

/** Mean sizes of the attributions over rows, with the middle share of the rows as whiskers. */
export function barChart(bars, width) {
  const letters = Math.max(10, Math.min(28, Math.floor(width / 24)));
  const margin = labelMargin(bars, letters);
  const rows = bars.map((bar, i) => ({ ...bar, i }));
  return drawn({
    width,
    height: 46 + 22 * rows.length,
    marginLeft: margin,
    marginRight: 46,
    marginTop: 4,
    marginBottom: 40,
    x: { label: "mean |attribution|", labelAnchor: "center", labelArrow: "none", ticks: Math.max(3, Math.floor(width / 110)), tickFormat: axisNumber },
    y: { domain: rows.map((row) => row.i), tickFormat: bandLabels(rows, letters), tickSize: 0, label: null, padding: 0.3 },
    marks: [
      Plot.barX(rows, { x: "value", y: "i", fill: LOWERS, rx: 2 }),
      Plot.ruleY(rows, { x1: "low", x2: "high", y: "i", stroke: INK, strokeWidth: 1.3 }),
      Plot.text(rows, { x: (row) => Math.max(row.value, row.high), y: "i", text: (row) => numberText(row.value), dx: 6, textAnchor: "start", fill: INK }),
    ],
  }, `Mean size of the attributions: ${rows.map((row) => `${row.label} ${numberText(row.value)}`).join(", ")}.`);
}

/** A dot for each row and feature; neighbours are moved apart, and the colour is the value of the feature. */
export function beeswarm(dots, labels, width) {
  const letters = Math.max(10, Math.min(28, Math.floor(width / 24)));
  const margin = labelMargin(labels.map((label) => ({ label })), letters);
  const height = 34;
  return drawn({
    width,
    height: 50 + height * labels.length,
    marginLeft: margin,
    marginRight: 14,
    marginTop: 4,
    marginBottom: 40,
    x: { label: "attribution", labelAnchor: "center", labelArrow: "none", ticks: Math.max(3, Math.floor(width / 110)), tickFormat: axisNumber },
    y: { domain: [labels.length - 0.5, -0.5], ticks: labels.map((_, i) => i), tickFormat: (i) => shortened(labels[i], letters), tickSize: 0, label: null },
    color: { domain: [0, 1], range: ["#3b6fb6", "#e0a030"], interpolate: "lab", unknown: "#888888" },
    marks: [
      Plot.ruleX([0], { stroke: QUIET }),
      Plot.link(dots.filter((dot) => dot.low !== null), { x1: "low", x2: "high", y1: (dot) => dot.k + dot.offset, y2: (dot) => dot.k + dot.offset, stroke: QUIET, strokeOpacity: 0.35 }),
      Plot.dot(dots, { x: "value", y: (dot) => dot.k + dot.offset, fill: "share", r: dots.length > 3000 ? 1.4 : 2.2, fillOpacity: 0.85 }),
    ],
  }, `Attributions of all rows, a line of dots for each of ${labels.join(", ")}.`);
}

/** How far the data determine the model along the path, from the baseline to the row. */
export function supportStrip(support, width) {
  const points = support.map((value, i) => ({ t: i / (support.length - 1), value }));
  return drawn({
    width,
    height: 92,
    marginLeft: 34,
    marginRight: 14,
    marginTop: 8,
    marginBottom: 38,
    x: { label: "baseline → this row", labelAnchor: "center", labelArrow: "none", ticks: 4, domain: [0, 1] },
    y: { domain: [0, 1], ticks: [0, 0.5, 1], label: null },
    marks: [
      Plot.areaY(points, { x: "t", y: "value", fill: LOWERS, fillOpacity: 0.25 }),
      Plot.lineY(points, { x: "t", y: "value", stroke: LOWERS, strokeWidth: 2 }),
    ],
  }, `Support along the path from the baseline to the row, at least ${numberText(Math.min(...support))} of 1.`);
}
