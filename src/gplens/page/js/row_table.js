// The rows of the report: search, sort, filter by value, pick one.
import { numberText, signedText } from "./columns.js";
import { el, fill, menu } from "./elements.js";

const AT_ONCE = 50;
const ORDERS = [
  ["given", "as given"], ["high", "largest prediction first"], ["low", "smallest prediction first"],
  ["change", "largest change from the baseline first"], ["mistake", "largest error of the prediction first"],
  ["unsure", "least support first"], ["inexact", "largest numerical error first"],
];

/** The rows that the state asks for, in its order. */
export function chosenRows(rows, state) {
  const wanted = state.search.trim().toLowerCase();
  const from = state.from === "" ? -Infinity : Number(state.from), to = state.to === "" ? Infinity : Number(state.to);
  const found = [];
  for (let row = 0; row < rows.count; row++) {
    const prediction = rows.predictionOf(row, outputOf(rows, state, row));
    if (prediction < from || prediction > to) continue;
    if (wanted === "" || rows.words(row).includes(wanted)) found.push(row);
  }
  const key = sortKey(rows, state);
  return key ? found.map((row) => [key(row), row]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, row]) => row) : found;
}

/** The output shown: the chosen one, or the likeliest of the row. */
export function outputOf(rows, state, row) {
  return state.output === null ? rows.likeliest(row) : state.output;
}

function sortKey(rows, state) {
  const value = (row) => rows.predictionOf(row, outputOf(rows, state, row));
  const keys = {
    high: value,
    low: (row) => -value(row),
    change: (row) => Math.abs(value(row) - rows.startOf(row, outputOf(rows, state, row))),
    mistake: (row) => Math.abs(rows.mistake(row)) || 0,
    unsure: (row) => (rows.report.support ? -Math.min(...rows.report.support[row]) : 0),
    inexact: (row) => (rows.error ? rows.error[row] : 0),
  };
  return keys[state.sort];
}

/** The panel with the list of rows. `change(part)` changes the state. */
export function rowPanel(rows, state, change) {
  const list = el("div", { class: "rows", id: "rows" });
  const status = el("p", { class: "dim", role: "status" });
  let shown = AT_ONCE;
  const orders = ORDERS.filter(([key]) => (key !== "mistake" || rows.report.targets) && (key !== "unsure" || rows.report.support));
  const text = (name, label, type) => el("label", { class: "field" }, el("span", {}, label),
    el("input", { type, value: state[name], id: `filter-${name}`, step: "any", oninput: (event) => change({ [name]: event.target.value }) }));
  const panel = el("section", { class: "card list", "aria-label": "Rows" }, el("h2", {}, "Rows"),
    el("div", { class: "fields" }, text("search", "search", "search"), menu("sort", orders, state.sort, (sort) => change({ sort })),
      text("from", "prediction from", "number"), text("to", "to", "number")),
    status, list);

  function paint() {
    const found = chosenRows(rows, state), { total } = rows.report;
    const sample = total > rows.count ? ` This page carries a sample of ${rows.count.toLocaleString("en")} of ${total.toLocaleString("en")} rows.` : "";
    status.textContent = `${found.length.toLocaleString("en")} of ${rows.count.toLocaleString("en")} rows.${sample}`;
    const lines = found.slice(0, shown).map((row) => rowButton(rows, state, row, change));
    const more = found.length > shown
      ? el("button", { type: "button", onclick: () => { shown += AT_ONCE; paint(); } }, `show more of ${found.length - shown}`) : null;
    fill(list, lines, more);
  }
  paint();
  return { panel, paint };
}

function rowButton(rows, state, row, change) {
  const output = outputOf(rows, state, row), name = rows.outputs[output], mistake = rows.mistake(row);
  const parts = [name === null ? "" : name, Number.isNaN(mistake) ? "" : `error ${signedText(mistake)}`].filter(Boolean).join(", ");
  return el("button", { type: "button", class: "row", "data-row": row, "aria-pressed": String(row === state.row), onclick: () => change({ row }) },
    el("span", { class: "name" }, el("bdi", {}, rows.name(row))),
    el("span", { class: "number" }, numberText(rows.predictionOf(row, output))),
    el("span", { class: "dim" }, el("bdi", {}, parts)));
}
