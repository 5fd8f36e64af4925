// The what-if: move a column, and see the prediction, its reasons and how sure they are.
import { answerFor, answerRows, fastEnough } from "./answer.js";
import { waterfall } from "./charts.js";
import { numberText, signedText } from "./columns.js";
import { controlPanel } from "./controls.js";
import { csvText, el, fill, folded, menu, textTable } from "./elements.js";
import { classChart } from "./live_charts.js";
import { slicePanel } from "./slices.js";

const REST = 160; // milliseconds without a change after which slices and finer error bars are computed

/** The view; `change(part)` changes the state and repaints, `live` is the model with its rows and baselines. */
export function whatifView(live, state, change, level) {
  const { model, outputs } = live, several = outputs.length > 1, percent = `${Math.round(100 * level)} %`;
  const answerCard = el("section", { class: "card", "aria-label": "Prediction" }), why = el("section", { class: "card", "aria-label": "Why" });
  const csv = el("textarea", { id: "csv", readonly: true, rows: "8", "aria-label": "The answer as CSV" });
  const said = el("p", { class: "dim", role: "status" });
  const slices = slicePanel(model, state, level, (i, entry) => { const setting = state.setting.slice(); setting[i] = entry; change({ setting }); });
  let timer = 0, cost = 0, last = null, pending = false, widths = [260, 260];

  const controls = controlPanel(model.columns, state, (setting) => drag(setting), () => rest(0));
  const view = el("div", { class: "whatif", id: "whatif", role: "tabpanel", "aria-labelledby": "tab-whatif" },
    controls.panel, el("div", { class: "answers" }, answerCard, why), slices.panel);

  /** Repaint in the next frame, once for all changes before it; the measure is what a person waits. */
  function drag(setting) {
    state.setting = setting;
    slices.stop();
    if (pending) return;
    pending = true;
    const begin = performance.now();
    requestAnimationFrame(() => {
      pending = false;
      paint("live");
      setTimeout(() => performance.measure("repaint", { start: begin, end: performance.now() }));
    });
    rest(REST);
  }

  function rest(wait) {
    clearTimeout(timer);
    timer = setTimeout(() => { paint("fine"); slices.paint(); change({}); }, wait);
  }

  function paint(bars) {
    widths = [answerCard, why].map((card) => Math.max(260, card.clientWidth - 34)); // read before anything is written: one layout
    const wanted = bars === "live" && !fastEnough(cost) ? "none" : bars;
    last = answerFor(model, state, level, live.baselineOf, wanted);
    if (bars === "live" && wanted !== "none") cost = 0.5 * cost + 0.5 * last.spent;
    controls.update(numberText(last.at.values[last.output]));
    paintAnswer();
    paintWhy();
    csv.value = csvText(answerRows(model, last, outputs, level));
  }

  function paintAnswer() {
    const { at, output, outcome } = last, [width] = widths, name = outputs[output];
    const interval = model.response.links
      ? `With ${percent} probability the expected value is between ${numberText(at.low[output])} and ${numberText(at.high[output])}.`
      : `± ${numberText(at.high[output] - at.values[output])}, the posterior deviation of the probability.`;
    const away = at.support < 0.5;
    const seen = `The data determine ${Math.max(0, Math.round(100 * at.support))} % of the prior variance here.`;
    const focused = document.activeElement && document.activeElement.id;
    fill(answerCard, el("h2", {}, "Prediction"), several ? menu("output", outputs.map((text, o) => [String(o), text]), String(output), (o) => change({ shown: Number(o) })) : null,
      el("p", { class: "big" }, el("output", { id: "prediction" }, numberText(at.values[output])), several || name === "" ? null : el("span", { class: "dim" }, " ", el("bdi", {}, name))),
      el("p", {}, interval, outcome ? ` An observation is between ${numberText(outcome[0])} and ${numberText(outcome[1])}, with the same probability.` : ""),
      el("p", { class: away ? "warning" : "dim" }, away ? `The model has left its data. ${seen}` : seen),
      model.outcome ? tailField() : model.whyNoOutcome ? el("p", { class: "dim", id: "no-tail" }, `No P(y > t): ${model.whyNoOutcome}.`) : null,
      several ? el("figure", {}, classChart(outputs, at.values, at.low, at.high, width)) : null);
    if (focused === "threshold") document.getElementById("threshold").focus();
  }

  function tailField() {
    const { threshold, tail } = last;
    const input = el("input", { type: "number", id: "threshold", step: "any", value: String(Number(threshold.toPrecision(6))), onchange: () => {
      if (input.value !== "" && Number.isFinite(Number(input.value))) change({ threshold: Number(input.value) });
    } });
    const low = Math.min(last.outcome[0], threshold), high = Math.max(last.outcome[1], threshold);
    const slide = el("input", { type: "range", min: String(low), max: String(high), step: "any", value: String(threshold), "aria-label": "threshold t", oninput: () => {
      state.threshold = Number(slide.value);
      input.value = String(Number(state.threshold.toPrecision(6)));
      const { m, v } = last.at;
      value.textContent = numberText(model.exceeds(m[last.output], v[last.output], state.threshold, last.output));
    }, onchange: () => change({}) });
    const value = el("output", { id: "tail" }, numberText(tail));
    return el("div", { class: "tail" }, el("label", { class: "field" }, el("span", {}, "P(y > t), t ="), input), slide, el("span", {}, "= ", value));
  }

  function paintWhy() {
    const [, width] = widths, { start, end, columns } = last, pinned = state.pinned !== null;
    const pin = el("button", { type: "button", id: "pin", "aria-pressed": String(pinned), onclick: () => change(pinned ? { pinned: null, baseline: live.baselines[0].id } : { pinned: state.setting.slice(), baseline: "pinned" }) },
      pinned ? "Unpin A" : "Pin this as A");
    const options = [...live.baselines.map(({ id, name }) => [id, name]), ...(pinned ? [["pinned", "A, the pinned setting"]] : []), [`row-${state.row}`, `${live.rowName(state.row)}, the row picked in the report`]];
    if (!options.some(([id]) => id === state.baseline)) options.push([state.baseline, last.baseline]);
    const change_ = state.baseline === "pinned" ? `From A, ${numberText(start)}, to this setting, ${numberText(end)}: a change of ${signedText(end - start)}.` : `From ${numberText(start)} at the baseline to ${numberText(end)}.`;
    const whiskers = last.bars ? `Whiskers: ${model.response.linear ? `${percent} intervals` : "± 1 posterior deviation"}.`
      : fastEnough(cost) ? "Error bars are not available here: the model is too unsure." : "Error bars follow when you stop.";
    const exact = `${last.nodes} points of the path; the bars add up to the change to ${numberText(Math.abs(last.gap))}.${last.converged ? "" : " They missed their tolerance."}`;
    const opened = csv.closest("details") && csv.closest("details").open;
    const focused = document.activeElement && document.activeElement.id;
    const kept = folded("as a table and CSV", textTable("Attributions", ["column", "attribution", "deviation"], columns.map((bar) => [bar.label, signedText(bar.value), bar.sd === null ? "" : numberText(bar.sd)])), csv);
    kept.open = Boolean(opened);
    fill(why, el("h2", {}, state.baseline === "pinned" ? "Why did it change?" : "Why"),
      el("div", { class: "fields" }, menu("relative to", options, state.baseline, (baseline) => change({ baseline })), pin,
        el("button", { type: "button", id: "copy", onclick: copy }, "Copy as CSV")), said,
      el("p", { id: "change" }, change_),
      el("figure", {}, waterfall(columns.filter(({ column }) => column.inputs > 0), start, end, width, { from: state.baseline === "pinned" ? "A" : "baseline", to: "prediction" }), el("figcaption", {}, `${whiskers} ${exact}`)), kept);
    if (focused === "pin" || focused === "copy") document.getElementById(focused).focus();
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(csv.value);
      said.textContent = "Copied.";
    } catch {
      csv.closest("details").open = true;
      csv.select();
      said.textContent = "The browser does not let a page from disk copy by itself; the text is selected below.";
    }
  }

  /** After any change of the state, and when the view appears. */
  function follow({ resized = false } = {}) {
    if (resized) controls.draw();
    paint("fine");
    slices.paint();
  }
  return { view, follow };
}
