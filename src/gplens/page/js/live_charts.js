// Charts of the what-if: slices, classes, and the histograms behind sliders.
import { axisNumber, bandLabels, drawn, INK, labelMargin, LOWERS, QUIET, RAISES, shortened } from "./charts.js";
import { numberText } from "./columns.js";

/** The prediction as one column moves, with its band; grey where the data say little. */
export function sliceChart(points, at, domain, width, label) {
  const ends = points.flatMap((point) => [point.low, point.high]), few = at.whole && points.length <= 6; // each has its own tick
  return drawn({
    width,
    height: 128,
    marginLeft: 44,
    marginRight: 8,
    marginTop: 6,
    marginBottom: 22,
    x: { label: null, ticks: few ? points.map((point) => point.entry) : Math.max(2, Math.floor(width / 80)), tickFormat: at.format },
    y: { label: null, ticks: 4, domain: domain ?? [Math.min(...ends), Math.max(...ends)], clamp: true, tickFormat: axisNumber },
    marks: [
      Plot.areaY(points, { x: "entry", y1: "low", y2: "high", fill: LOWERS, fillOpacity: 0.2 }),
      Plot.lineY(points, { x: "entry", y: "value", stroke: LOWERS, strokeWidth: 2 }),
      Plot.dot(points.filter((point) => point.support < 0.5), { x: "entry", y: "value", fill: QUIET, r: 2 }),
      at.entry === null ? null : Plot.ruleX([at.entry], { stroke: RAISES, strokeWidth: 1.5 }),
      at.entry === null ? null : Plot.dot([at], { x: "entry", y: "value", fill: RAISES, r: 4 }),
    ],
  }, label);
}

/** The same for a column of categories: a dot with a whisker each. */
export function categoryChart(points, at, domain, width, label) {
  const letters = Math.max(6, Math.min(18, Math.floor(width / 20)));
  const margin = labelMargin(points, letters);
  return drawn({
    width,
    height: 30 + 18 * points.length,
    marginLeft: margin,
    marginRight: 8,
    marginTop: 4,
    marginBottom: 22,
    x: { label: null, ticks: 4, domain, clamp: true, tickFormat: axisNumber },
    y: { type: "band", domain: points.map((point) => point.entry), tickFormat: (i) => shortened(points.find((point) => point.entry === i).label, letters), tickSize: 0, label: null },
    marks: [
      Plot.ruleY(points, { x1: "low", x2: "high", y: "entry", stroke: LOWERS, strokeOpacity: 0.4, strokeWidth: 5 }),
      Plot.dot(points, { x: "value", y: "entry", fill: (point) => (point.entry === at.entry ? RAISES : LOWERS), r: 4 }),
    ],
  }, label);
}

/** The probabilities of the classes with their deviations. */
export function classChart(names, values, low, high, width) {
  const bars = names.map((label, i) => ({ label, i, value: values[i], low: Math.max(low[i], 0), high: Math.min(high[i], 1) }));
  const letters = Math.max(8, Math.min(24, Math.floor(width / 24)));
  const margin = labelMargin(bars, letters);
  return drawn({
    width,
    height: 30 + 22 * bars.length,
    marginLeft: margin,
    marginRight: 46,
    marginTop: 2,
    marginBottom: 24,
    x: { domain: [0, 1], label: null, ticks: 4, tickFormat: axisNumber },
    y: { domain: bars.map((bar) => bar.i), tickFormat: bandLabels(bars, letters), tickSize: 0, label: null, padding: 0.3 },
    marks: [
      Plot.barX(bars, { x: "value", y: "i", fill: LOWERS, rx: 2 }),
      Plot.ruleY(bars, { x1: "low", x2: "high", y: "i", stroke: INK, strokeWidth: 1.4 }),
      Plot.text(bars, { x: "high", y: "i", text: (bar) => numberText(bar.value), dx: 6, textAnchor: "start", fill: INK }),
    ],
  }, `Probabilities: ${bars.map((bar) => `${bar.label} ${numberText(bar.value)}`).join(", ")}.`);
}

/** The histogram behind a slider whose range is wider than the data. */
export function histogram(column, low, high, width) {
  const { counts, edges: [first, last] } = column;
  const step = (last - first) / counts.length;
  const bars = counts.map((count, i) => ({ x1: first + i * step, x2: first + (i + 1) * step, count }));
  return drawn({
    width,
    height: 34,
    margin: 0,
    marginLeft: 8,
    marginRight: 8,
    x: { domain: [low, high], axis: null, clamp: true },
    y: { axis: null },
    marks: [Plot.rectY(bars, { x1: "x1", x2: "x2", y: "count", fill: QUIET, fillOpacity: 0.45, insetLeft: 0.5 })],
  }, `Histogram of the data of ${column.name}, from ${numberText(column.low)} to ${numberText(column.high)}.`);
}
