// Why the prediction is what it is: the waterfall from a baseline or a pinned setting, as a chart, a table and CSV.
import { answerRows } from "./answer.js";
import { waterfall } from "./charts.js";
import { numberText, signedText } from "./columns.js";
import { csvText, el, fill, folded, textTable, write } from "./elements.js";

/** The card; its parts stay, and a repaint writes what changed. `change(part)` changes the state. */
export function whyCard(live, state, change, level) {
  const { model, outputs } = live, heading = el("h2"), sentence = el("p", { id: "change" });
  const csv = el("textarea", { id: "csv", readonly: true, rows: "8", "aria-label": "The answer as CSV" });
  const relative = el("select", { onchange: () => change({ baseline: relative.value }) });
  const pin = el("button", { type: "button", id: "pin", onclick: () => change(state.pinned !== null
    ? { pinned: null, baseline: live.baselines[0].id } : { pinned: state.setting.slice(), baseline: "pinned" }) });
  const said = el("p", { class: "dim", role: "status" }), picture = el("div"), caption = el("figcaption"), table = el("div");
  const details = folded("as a table and CSV", table, csv);
  const card = el("section", { class: "card", "aria-label": "Why" }, heading,
    el("div", { class: "fields" }, el("label", { class: "field" }, el("span", {}, "relative to"), relative), pin,
      el("button", { type: "button", id: "copy", onclick: copy }, "Copy as CSV")), said,
    sentence, el("figure", {}, picture, caption), details);
  let last = null, listed = "";
  details.addEventListener("toggle", () => { if (details.open && last) paintTable(); });

  function paintBaselines(name) {
    const options = [...live.baselines.map((own) => [own.id, own.name]), ...(state.pinned !== null ? [["pinned", "A, the pinned setting"]] : []),
      [`row-${state.row}`, `${live.rowName(state.row)}, the row picked in the report`]];
    if (!options.some(([id]) => id === state.baseline)) options.push([state.baseline, name]);
    const key = JSON.stringify(options);
    if (key !== listed) fill(relative, options.map(([id, text]) => el("option", { value: id }, text)));
    listed = key;
    relative.value = state.baseline;
    pin.setAttribute("aria-pressed", String(state.pinned !== null));
    write(pin, state.pinned !== null ? "Unpin A" : "Pin this as A");
  }

  function paintTable() {
    fill(table, textTable("Attributions", ["column", "attribution", "deviation"],
      last.columns.map((bar) => [bar.label, signedText(bar.value), bar.sd === null ? "" : numberText(bar.sd)])));
    csv.value = csvText(answerRows(model, last, outputs, level));
  }

  /** `still` if nobody drags; `followLater` if error bars are too slow for a drag. */
  function paint(answer, width, { still, followLater }) {
    const { start, end, columns, nodes, gap, converged } = answer, fromPin = state.baseline === "pinned";
    last = answer;
    paintBaselines(answer.baseline);
    write(heading, fromPin ? "Why did it change?" : "Why");
    write(sentence, fromPin ? `From A, ${numberText(start)}, to this setting, ${numberText(end)}: a change of ${signedText(end - start)}.`
      : `From ${numberText(start)} at the baseline to ${numberText(end)}.`);
    fill(picture, waterfall(columns.filter(({ column }) => column.inputs > 0), start, end, width, { from: fromPin ? "A" : "baseline", to: "prediction" }));
    const kind = model.response.linear ? `${Math.round(100 * level)} % intervals` : "± 1 posterior deviation";
    const whiskers = answer.bars ? `Whiskers: ${kind}.` : followLater ? "Error bars follow when you stop." : "Error bars are not available here: the model is too unsure.";
    const exact = `${still ? "" : "While you drag: "}${nodes} points of the path; the bars add up to the change to ${numberText(Math.abs(gap))}.${converged ? "" : " They missed their tolerance."}`;
    write(caption, `${whiskers} ${exact}`);
    if (still || details.open) paintTable();
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(csv.value);
      said.textContent = "Copied.";
    } catch {
      details.open = true;
      csv.select();
      said.textContent = "The browser does not let a page from disk copy by itself; the text is selected below.";
    }
  }
  return { card, paint };
}
