// Charts by Observable Plot, in the colours of the page. Every chart is an image with a text that says what it shows.
import { numberText, signedText } from "./columns.js";

export const RAISES = "var(--raises)";
export const LOWERS = "var(--lowers)";
export const QUIET = "var(--quiet)";
export const INK = "var(--ink)";
export const PARTS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7"]; // of channels, as in gplens.plots
const BAND = 18; // pixels of a bar

/** A chart with its description for those who do not see it. */
export function drawn(options, label) {
  const chart = Plot.plot({ ...options, style: { background: "none", color: "inherit", fontSize: "12px", overflow: "visible" } });
  for (const group of chart.querySelectorAll("g[aria-label]")) group.removeAttribute("aria-label"); // parts of one image
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  return chart;
}

const SHORTEST = 10; // letters of a name that still tell it from others

/** How many letters of a text are seen; the marks around names that may run from right to left are not. */
function visible(text) {
  return Array.from(text.replace(/[\u2068\u2069]/g, "")).length;
}

/** A long text with dots. Of a name and its entries the name is cut, or, if too little of it were left, shown alone. */
export function shortened(text, most) {
  if (visible(text) <= most) return text;
  const named = /^\u2068([^\u2068\u2069]*)\u2069(.+)$/s.exec(text), room = named ? most - visible(named[2]) : 0;
  if (!named) return cut(text, most);
  return room < SHORTEST ? cut(named[1], most) : `\u2068${cut(named[1], room)}\u2069${named[2]}`;
}

/** The beginning of a text with dots, and the marks closed that were open there. */
function cut(text, most) {
  if (visible(text) <= most) return text;
  let kept = "", seen = 0, open = 0;
  for (const letter of text) {
    if (letter === "\u2068") open++;
    else if (letter === "\u2069") open--;
    else if (++seen === most) break;
    kept += letter;
  }
  return `${kept.trimEnd()}…${"\u2069".repeat(Math.max(open, 0))}`;
}

/** Labels of a band axis: the position keeps equal names apart. */
export function bandLabels(bars, most) {
  return (i) => shortened(bars[i].label, most);
}

/** Room for the labels of bars, of so many letters at most. */
export function labelMargin(bars, letters) {
  return 14 + 6.7 * Math.min(letters, Math.max(...bars.map((bar) => visible(bar.label))));
}

/** The largest bars in their order, and the sum of the others. */
export function largest(bars, most) {
  const sorted = [...bars].sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  if (sorted.length <= most) return sorted;
  const rest = sorted.slice(most - 1);
  const value = rest.reduce((sum, bar) => sum + bar.value, 0);
  const parts = (rest[0].parts ?? []).map((_, i) => rest.reduce((sum, bar) => sum + bar.parts[i], 0));
  return [...sorted.slice(0, most - 1), { label: `${rest.length} others`, value, low: null, high: null, parts }];
}

/** Bars of one colour, or stacked of their parts: thin bars below each other, each from where the last one ends. */
function barMarks(moving) {
  const count = moving.length ? (moving[0].parts ?? []).length : 0;
  if (count === 0) return [Plot.barX(moving, { x1: "x1", x2: "x2", y: "i", fill: (row) => (row.value >= 0 ? RAISES : LOWERS), rx: 2 })];
  return Array.from({ length: count }, (_, part) => {
    const until = (row, n) => row.parts.slice(0, n).reduce((sum, value) => sum + value, row.x1);
    const insets = { insetTop: (BAND * part) / count, insetBottom: (BAND * (count - 1 - part)) / count };
    return Plot.barX(moving, { x1: (row) => until(row, part), x2: (row) => until(row, part + 1), y: "i", fill: PARTS[part % PARTS.length], ...insets });
  });
}

/** From the baseline to the prediction, a bar for each feature, with whiskers where they are known. */
export function waterfall(bars, start, end, width, { from, to }) {
  const most = 16, shown = largest(bars, most), steps = [];
  let at = start;
  for (const bar of shown) {
    const whisker = bar.low === null ? null : [at + bar.low, at + bar.high];
    steps.push({ ...bar, x1: at, x2: at + bar.value, whisker });
    at += bar.value;
  }
  const rows = [{ label: from, end: start }, ...steps, { label: to, end }];
  const letters = Math.max(20, Math.min(32, Math.floor(width / 22))), margin = labelMargin(rows, letters);
  const indexed = rows.map((row, i) => ({ ...row, i }));
  const moving = indexed.filter((row) => row.end === undefined);
  const turns = (row) => (row.parts ?? []).map((_, n) => row.parts.slice(0, n + 1).reduce((sum, value) => sum + value, row.x1));
  const ends = indexed.flatMap((row) => (row.end === undefined ? [row.x1, row.x2, ...turns(row), ...(row.whisker ?? [])] : [row.end]));
  const low = Math.min(...ends), span = Math.max(...ends) - low || 1, number = Math.min(64, 0.4 * (width - margin)); // pixels of a number beside a bar
  const domain = [low - 0.04 * span, low + 1.02 * span + (span * number) / (width - margin - number)];
  return drawn({
    width,
    height: 34 + 25 * rows.length,
    marginLeft: margin,
    marginRight: 14,
    marginTop: 4,
    marginBottom: 28,
    x: { domain, ticks: Math.max(3, Math.floor(width / 110)), label: null, tickFormat: axisNumber },
    y: { domain: indexed.map((row) => row.i), tickFormat: bandLabels(rows, letters), tickSize: 0, label: null, padding: 0.28 },
    marks: [
      Plot.gridX({ ticks: Math.max(3, Math.floor(width / 110)), stroke: QUIET, strokeOpacity: 0.25 }),
      Plot.ruleX([start], { stroke: QUIET, strokeDasharray: "3 3" }),
      ...barMarks(moving),
      Plot.ruleY(moving.filter((row) => row.whisker), { x1: (row) => row.whisker[0], x2: (row) => row.whisker[1], y: "i", stroke: INK, strokeWidth: 1.4 }),
      Plot.tickX(moving.filter((row) => row.whisker).flatMap((row) => row.whisker.map((x) => ({ x, i: row.i }))), { x: "x", y: "i", stroke: INK, strokeWidth: 1.4, inset: 4 }),
      Plot.dot(indexed.filter((row) => row.end !== undefined), { x: "end", y: "i", fill: INK, r: 4.5, symbol: "diamond2" }),
      Plot.text(indexed.filter((row) => row.end !== undefined), { x: "end", y: "i", text: (row) => numberText(row.end), dx: 9, textAnchor: "start", fill: INK, fontWeight: 600, stroke: "var(--paper)", strokeWidth: 4 }),
      Plot.text(moving, { x: (row) => Math.max(row.x1, row.x2, ...turns(row), ...(row.whisker ?? [])), y: "i", text: (row) => signedText(row.value), dx: 6, textAnchor: "start", fill: INK, stroke: "var(--paper)", strokeWidth: 4 }),
    ],
  }, `Waterfall from ${numberText(start)} to ${numberText(end)}: ${shown.map((bar) => `${bar.label} ${signedText(bar.value)}`).join(", ")}.`);
}

export function axisNumber(value) {
  return numberText(value);
}
