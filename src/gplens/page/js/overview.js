// What the report says of all rows: bars, the swarm, the baseline, how exact and from what.
import { numberText } from "./columns.js";
import { el, textTable } from "./elements.js";
import { barChart, beeswarm } from "./report_charts.js";

const FEATURES = 15;
const WHISKERS = 150; // rows; of more the intervals would cover the dots

/** Features by their mean size for an output, or for each row's likeliest one: with posterior intervals, or those of rows. */
function sizes(rows, output, outputFor, level) {
  const tail = (1 - level) / 2;
  return rows.features.map((label, k) => {
    const own = Array.from({ length: rows.count }, (_, row) => Math.abs(rows.mark(row, outputFor(row), k).value));
    const value = own.reduce((sum, size) => sum + size, 0) / rows.count;
    own.sort((a, b) => a - b);
    const at = (share) => own[Math.min(own.length - 1, Math.floor(share * own.length))];
    return { label, k, value, ...(rows.sizeEnds(output, k) ?? { low: at(tail), high: at(1 - tail) }) };
  }).sort((a, b) => b.value - a.value).slice(0, FEATURES);
}

/** Dots of the largest features, moved apart where they meet, with the rank of the feature's value as colour. */
function swarm(rows, outputFor, bars) {
  const marks = bars.map(({ k }) => Array.from({ length: rows.count }, (_, row) => rows.mark(row, outputFor(row), k)));
  const values = marks.flat().map((mark) => mark.value), span = Math.max(...values) - Math.min(...values) || 1;
  return marks.flatMap((own, i) => {
    const numbers = own.map((_, row) => rows.inputs.number(row, bars[i].k));
    const [low, high] = [Math.min(...numbers.filter(Number.isFinite)), Math.max(...numbers.filter(Number.isFinite))];
    const taken = new Map();
    return own.map((mark, row) => {
      const cell = Math.round((140 * mark.value) / span), stack = taken.get(cell) ?? 0;
      taken.set(cell, stack + 1);
      const side = stack % 2 ? 1 : -1, offset = Math.max(-0.4, Math.min(0.4, side * Math.ceil(stack / 2) * 0.07));
      const whisker = rows.count <= WHISKERS ? { low: mark.low, high: mark.high } : { low: null, high: null };
      const share = Number.isFinite(numbers[row]) ? (high > low ? (numbers[row] - low) / (high - low) : 0.5) : NaN;
      return { k: i, value: mark.value, ...whisker, offset, share };
    });
  });
}

/** Bars and swarm of one output, or of the likeliest one of each row. */
export function overAllRows(rows, output, width) {
  const outputFor = (row) => (output === null ? rows.likeliest(row) : output), { level, interval } = rows.report;
  const bars = sizes(rows, output, outputFor, level), half = width > 760 ? (width - 32) / 2 : width;
  const lines = rows.sizes ? `the line is ${rows.report.sizes.interval}` : `the line is the middle ${Math.round(100 * level)} % of the rows`;
  const whiskers = rows.low && rows.count <= WHISKERS ? ` Thin lines are ${interval}.` : "";
  return el("section", { class: "card", "aria-label": "Over all rows" }, el("h2", {}, "Over all rows"),
    el("div", { class: half < width ? "pair" : "" },
      el("figure", {}, barChart(bars, half), el("figcaption", {}, `Mean size of each feature's attribution; ${lines}.`)),
      el("figure", {}, beeswarm(swarm(rows, outputFor, bars), bars.map((bar) => bar.label), half),
        el("figcaption", {}, `One dot for each row, from low (blue) to high (yellow) values of the feature; grey is no number.${whiskers}`))));
}

/** How many rows there are, and of how many they are a sample. */
function rowCount(rows) {
  const [count, total] = [rows.count, rows.report.total].map((number) => number.toLocaleString("en"));
  return count === total ? `${total} row${total === "1" ? "" : "s"}` : `${count} rows, a sample of ${total}`;
}

/** What was explained, relative to what, how sure, how exact. */
export function summary(rows) {
  const { report } = rows, { quality } = report;
  const exact = [`the attributions of a row add up to its prediction less that of the baseline, to ${numberText(quality.gap)} at worst`];
  if (quality.error !== null) exact.push(`the largest estimated error of an attribution is ${numberText(quality.error)}`);
  if (quality.monte_carlo !== null) exact.push(`the largest Monte Carlo error is ${numberText(quality.monte_carlo)}`);
  const missed = quality.missed ? ` ${quality.missed} rows missed the tolerance.` : " All rows met the tolerance.";
  const bars = quality.missed_bars ? ` The error bars of ${quality.missed_bars} ${quality.missed_bars === 1 ? "row" : "rows"} missed their own tolerance.` : "";
  const sure = report.low ? `Whiskers are ${report.interval}: how sure the model is of each attribution.` : report.acquisition ? "An acquisition function is a number of the posterior and has no error bars; explain the mean of its model to have them." : "Error bars were not asked for; explain(uncertainty=gplens.Diagonal()) computes them.";
  const facts = [
    ["Explained", `${report.title}, ${rowCount(rows)}, ${report.features.length} features.`],
    ["Relative to", `${report.baseline}.`],
    ["How sure", sure],
    ["How exact", `${exact.join("; ")}.${missed}${bars}`.replace(/^t/, "T")],
  ];
  return el("section", { class: "card", "aria-label": "Summary" }, el("dl", { class: "facts" },
    facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, el("bdi", {}, text))])));
}

/** Whether the baseline is a place that the model knows. */
export function baselineCheck(rows) {
  const { report } = rows, children = [el("h2", {}, "The baseline")];
  const starts = rows.outputs.map((name, o) => `${name === null ? "" : `${name}: `}${numberText(rows.startOf(0, o))}`).join(", ");
  children.push(el("p", {}, report.one_baseline ? `At the baseline, ${report.baseline}, the model predicts ${starts}.`
    : report.background ? "The attributions are averages over a background of baselines." : "Each row has a baseline of its own."));
  if (report.support) {
    const least = Math.min(...report.support.map((path) => path[0])), { distance, baseline_std: std } = report;
    if (std && report.one_baseline) children.push(el("p", {}, `The posterior deviation of that prediction is ${std.map(numberText).join(", ")}.`));
    if (distance !== null) children.push(el("p", {}, `The nearest support point is ${numberText(distance)} lengthscales away.`));
    children.push(el("p", {}, `There the data determine ${Math.round(100 * least)} % of the prior variance of the model. `,
      least < 0.5 ? el("strong", {}, "The model hardly knows its own baseline: choose one that is nearer to the data.") : "The model knows its baseline."));
  }
  if (rows.origin && report.one_baseline) {
    const entries = rows.features.map((name, k) => [name, rows.origin.text(0, k) || "–"]);
    children.push(textTable("Entries of the baseline", ["column", "baseline"], entries));
  }
  return el("section", { class: "card", "aria-label": "The baseline" }, children);
}

/** Settings, versions, fingerprint. */
export function origin(report) {
  return el("section", { class: "card", "aria-label": "Settings" }, el("h2", {}, "Settings"),
    el("dl", { class: "facts" }, report.facts.flatMap(([name, text]) => [el("dt", {}, name), el("dd", {}, el("bdi", {}, text))])));
}
