// The prediction for a setting with its interval, how far the data determine it, P(y > t), and all classes.
import { numberText } from "./columns.js";
import { el, fill, menu, setClass, write } from "./elements.js";
import { classChart } from "./live_charts.js";

/** The card; its parts stay, and a repaint writes what changed. `change(part)` changes the state. */
export function answerCard({ model, outputs }, state, change, level) {
  const several = outputs.length > 1, percent = `${Math.round(100 * level)} %`;
  const choice = several ? menu("output", outputs.map((text, o) => [String(o), text]), String(state.shown), (o) => change({ shown: Number(o) })) : null;
  const prediction = el("output", { id: "prediction" }), interval = el("p"), seen = el("p");
  const unit = several || outputs[0] === "" ? null : el("span", { class: "dim" }, " ", el("bdi", {}, outputs[0]));
  const tail = model.outcome ? tailField(model, state, change) : null, picture = several ? el("figure") : null;
  const card = el("section", { class: "card", "aria-label": "Prediction" }, el("h2", {}, "Prediction"), choice,
    el("p", { class: "big" }, prediction, unit), interval, seen, tail && tail.element,
    !tail && model.whyNoOutcome ? el("p", { class: "dim", id: "no-tail" }, `No P(y > t): ${model.whyNoOutcome}.`) : null, picture);

  function intervalText({ at, output, outcome }) {
    if (!model.response.links) return `± ${numberText(at.high[output] - at.values[output])}, the posterior deviation of the probability.`;
    const observed = outcome ? ` An observation is between ${numberText(outcome[0])} and ${numberText(outcome[1])}, with the same probability.` : "";
    return `With ${percent} probability the expected value is between ${numberText(at.low[output])} and ${numberText(at.high[output])}.${observed}`;
  }

  function paint(answer, width) {
    const { at, output } = answer, away = at.support < 0.5;
    const share = `The data determine ${Math.max(0, Math.round(100 * at.support))} % of the prior variance here.`;
    if (choice) choice.lastChild.value = String(output);
    write(prediction, numberText(at.values[output]));
    write(interval, intervalText(answer));
    write(seen, away ? `The model has left its data. ${share}` : share);
    setClass(seen, away ? "warning" : "dim");
    if (tail) tail.paint(answer);
    if (picture) fill(picture, classChart(outputs, at.values, at.low, at.high, width));
  }
  return { card, paint };
}

/** P(y > t) with a number and a slider for t. */
function tailField(model, state, change) {
  let shown = null;
  const digits = (t) => String(Number(t.toPrecision(6))), value = el("output", { id: "tail" });
  const input = el("input", { type: "number", id: "threshold", step: "any", onchange: () => {
    if (input.value !== "" && Number.isFinite(Number(input.value))) change({ threshold: Number(input.value) });
  } });
  const slide = el("input", { type: "range", step: "any", "aria-label": "threshold t", oninput: () => {
    const { at: { m, v }, output } = shown;
    state.threshold = Number(slide.value);
    input.value = digits(state.threshold);
    write(value, numberText(model.exceeds(m[output], v[output], state.threshold, output)));
  }, onchange: () => change({}) });
  const element = el("div", { class: "tail" }, el("label", { class: "field" }, el("span", {}, "P(y > t), t ="), input), slide, el("span", {}, "= ", value));

  function paint(answer) {
    const { threshold, tail, outcome } = answer;
    shown = answer;
    slide.min = String(Math.min(outcome[0], threshold));
    slide.max = String(Math.max(outcome[1], threshold));
    slide.value = String(threshold);
    if (document.activeElement !== input) input.value = digits(threshold);
    write(value, numberText(tail));
  }
  return { element, paint };
}
