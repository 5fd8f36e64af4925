// The what-if: move a column, and see the prediction, its reasons and how sure they are.
import { answerFor, fastEnough } from "./answer.js";
import { answerCard } from "./answer_card.js";
import { numberText } from "./columns.js";
import { controlPanel } from "./controls.js";
import { el } from "./elements.js";
import { slicePanel } from "./slices.js";
import { whyCard } from "./why_card.js";

const REST = 160; // milliseconds without a change after which slices and finer error bars are computed

/** The view; `change(part)` changes the state and repaints, `live` is the model with its rows and baselines. */
export function whatifView(live, state, change, level) {
  const { model } = live, answer = answerCard(live, state, change, level), why = whyCard(live, state, change, level);
  const slices = slicePanel(model, state, level, (i, entry) => { const setting = state.setting.slice(); setting[i] = entry; change({ setting }); });
  let timer = 0, cost = 0, last = null, pending = false, widths = [260, 260];

  const controls = controlPanel(model.columns, state, (setting) => drag(setting), () => rest(0));
  const view = el("div", { class: "whatif", id: "whatif", role: "tabpanel", "aria-labelledby": "tab-whatif" },
    controls.panel, el("div", { class: "answers" }, answer.card, why.card), slices.panel);

  /** Repaint in the next frame, once for all changes before it; the measure is what a person waits. */
  function drag(setting) {
    state.setting = setting;
    slices.stop();
    clearTimeout(timer);
    if (pending) return;
    pending = true;
    const begin = performance.now();
    requestAnimationFrame(() => {
      pending = false;
      paint("live");
      setTimeout(() => performance.measure("repaint", { start: begin, end: performance.now() }));
      rest(REST); // from the end of the work, so that a slow machine does not take its own work for a rest
    });
  }

  function rest(wait) {
    clearTimeout(timer);
    timer = setTimeout(() => { paint("fine"); slices.paint(); change({}); }, wait);
  }

  function paint(bars) {
    const still = bars === "fine", wanted = !still && !fastEnough(cost) ? "none" : bars;
    if (still) widths = [answer.card, why.card].map((card) => Math.max(260, card.clientWidth - 34)); // no layout while one drags
    last = answerFor(model, state, level, live.baselineOf, wanted, last && last.first);
    if (still && cost === 0) cost = 0.3 * last.spent; // what they may take with fewer nodes, until that has been measured
    else if (!still && wanted !== "none") cost = 0.5 * cost + 0.5 * last.spent;
    controls.update(numberText(last.at.values[last.output]));
    answer.paint(last, widths[0]);
    why.paint(last, widths[1], { still, followLater: !fastEnough(cost) });
  }

  /** After any change of the state, and when the view appears. */
  function follow({ resized = false } = {}) {
    if (resized) controls.draw();
    paint("fine");
    slices.paint();
  }
  return { view, follow };
}
