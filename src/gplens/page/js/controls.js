// A slider or menu for every column, in the units of the user's table, with the histogram of the data behind it.
import { entryText } from "./columns.js";
import { el, fill, write } from "./elements.js";
import { histogram } from "./live_charts.js";

const BEYOND = 0.25; // a slider goes beyond the data by this share of their range

/** The ends of a slider. */
export function sliderRange(column) {
  const { low, high, step, kind } = column, span = high - low || 1;
  if (kind === "cyclic") return [low, Math.max(high, low + column.period - (step || 0))];
  const more = step === 1 ? Math.floor(BEYOND * span) : BEYOND * span; // of few whole numbers, such as 0 and 1, none
  const least = kind === "log" ? (low + column.plus) / 4 - column.plus : low >= 0 ? 0 : -Infinity; // no wind below zero
  return [Math.max(low - more, least), high + more];
}

/** Entries at which a slice is evaluated. */
export function sliceEntries(column) {
  if (column.kind === "category") return column.categories.map((_, i) => i);
  if (column.kind === "boolean") return [0, 1];
  const [low, high] = sliderRange(column), whole = column.step === 1 && high - low <= 60;
  const count = whole ? Math.round(high - low) + 1 : 41;
  return Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
}

/** Whether an entry lies outside of what the data have. */
function outside(column, entry) {
  if (entry === null || column.kind === "boolean") return false;
  if (column.kind === "category") return column.counts[entry] === 0;
  return entry < column.low || entry > column.high;
}

/** The controls; `change(setting)` is called while one drags, `settled()` when one stops. */
export function controlPanel(columns, state, change, settled) {
  const controls = columns.map((column, i) => (column.inputs === 0 ? null : control(column, i, state, change, settled)));
  const idle = columns.filter((column) => column.inputs === 0).map((column) => column.name);
  const note = idle.length ? el("p", { class: "dim" }, "Not used by the model: ", el("bdi", {}, idle.join(", ")), ".") : null;
  const glance = el("span", { class: "glance", "aria-hidden": "true" });
  const panel = el("section", { class: "card controls", "aria-label": "Settings of the columns" }, el("h2", {}, "What if", glance),
    controls.filter(Boolean).map(({ element }) => element), note);
  const update = (prediction) => {
    write(glance, prediction);
    controls.forEach((own) => own && own.update());
  };
  return { panel, update, draw: () => controls.forEach((own) => own && own.draw()) };
}

function control(column, i, state, change, settled) {
  const id = `column-${i}`, set = (entry) => { const moved = state.setting.slice(); moved[i] = entry; change(moved); };
  const text = el("output", { class: "number", for: id }), warning = el("span", { class: "warning" });
  const name = el("label", { class: "name", for: id }, el("bdi", {}, column.name));
  const [input, picture] = column.kind === "category" || column.kind === "boolean" ? chooser(column, id, set, settled) : slider(column, id, set, settled);
  const missing = column.fill === null || column.kind === "category" ? null
    : el("input", { type: "checkbox", "aria-label": `${column.name} is missing`, onchange: (event) => { set(event.target.checked ? null : column.typical); settled(); } });
  const element = el("div", { class: "control" }, el("div", { class: "heading" }, name, text), picture, input,
    missing ? el("label", { class: "dim" }, missing, " missing") : null, warning);
  let painted; // the entry that is shown
  return {
    element,
    draw() {
      if (picture) fill(picture, histogram(column, ...sliderRange(column), Math.max(120, element.clientWidth)));
    },
    update() {
      const entry = state.setting[i];
      if (entry === painted) return;
      painted = entry;
      write(text, entryText(column, entry));
      input.disabled = entry === null;
      if (missing) missing.checked = entry === null;
      if (entry !== null && Number(input.value) !== entry) input.value = String(entry);
      if (input.type === "range") input.setAttribute("aria-valuetext", entryText(column, entry));
      write(warning, outside(column, entry) ? "outside of the data" : "");
      element.classList.toggle("outside", outside(column, entry));
    },
  };
}

function chooser(column, id, set, settled) {
  const names = column.kind === "boolean" ? ["False", "True"] : column.categories, total = column.counts.reduce((s, c) => s + c, 0);
  const share = (k) => (column.kind === "category" && total ? ` (${Math.round((100 * column.counts[k]) / total)} %)` : "");
  const select = el("select", { id, onchange: () => { set(Number(select.value)); settled(); } },
    names.map((name, k) => el("option", { value: String(k) }, `${name}${share(k)}`)));
  return [select, null];
}

function slider(column, id, set, settled) {
  const [low, high] = sliderRange(column), whole = column.step === 1;
  const input = el("input", {
    type: "range", id, min: String(low), max: String(high), step: whole ? "1" : "any",
    oninput: () => set(Number(input.value)), onchange: settled,
  });
  return [input, el("div", { class: "histogram", "aria-hidden": "true" })];
}
