// The prediction as one column moves and the others stay: one small chart for each column, drawn when nobody drags.
import { entryText } from "./columns.js";
import { sliceEntries } from "./controls.js";
import { el, fill } from "./elements.js";
import { categoryChart, sliceChart } from "./live_charts.js";

const MOST = 24;

/** The panel of slices; a click moves the column there. */
export function slicePanel(model, state, level, move) {
  const shown = model.columns.map((column, i) => ({ column, i })).filter(({ column }) => column.inputs > 0).slice(0, MOST);
  const figures = shown.map(({ column }) => el("figure", { class: "slice" }, el("figcaption", {}, el("bdi", {}, column.name)), el("div", {})));
  const left = model.columns.filter((column) => column.inputs > 0).length - shown.length;
  const panel = el("section", { class: "card wide", "aria-label": "Slices" }, el("h2", {}, "One column at a time"),
    el("p", { class: "dim" }, `The prediction with its interval as one column moves; click to move there. Grey dots: the data say little.${left > 0 ? ` The first ${MOST} columns are drawn.` : ""}`),
    el("div", { class: "slices" }, figures));
  const probability = (p) => Math.max(0, Math.min(1, p)); // p plus and minus its deviation may leave [0, 1], the band may not
  const within = (point) => (model.response.links ? point : { ...point, low: probability(point.low), high: probability(point.high) });
  let run = 0;

  /** Evaluate one column after the other, so that the page answers in between; a newer call ends an older one. */
  async function paint() {
    const own = ++run, setting = state.setting.slice(), output = state.shown, slices = [];
    for (const { column, i } of shown) {
      await new Promise((done) => { setTimeout(done); });
      if (own !== run) return;
      slices.push(model.slice(setting, i, sliceEntries(column), output, level).map(within));
    }
    const all = slices.flat(), domain = [Math.min(...all.map((p) => p.low)), Math.max(...all.map((p) => p.high))];
    const value = model.predict(model.point(setting), level).values[output];
    shown.forEach(({ column, i }, at) => fill(figures[at].lastChild, chart(column, i, slices[at], domain, setting[i], value, figures[at].clientWidth)));
    panel.dataset.painted = String(own);
  }

  function chart(column, i, points, domain, entry, value, width) {
    const label = `${column.name} from ${entryText(column, points[0].entry)} to ${entryText(column, points.at(-1).entry)}.`;
    const at = { entry, value, format: (x) => entryText(column, x), whole: column.step === 1 };
    const discrete = column.kind === "category" || column.kind === "boolean";
    const labelled = points.map((point) => ({ ...point, label: entryText(column, point.entry) }));
    const svg = discrete ? categoryChart(labelled, at, domain, width, label) : sliceChart(points, at, domain, width, label);
    svg.addEventListener("click", (event) => {
      const box = svg.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
      if (discrete) {
        const { domain: order, range } = svg.scale("y"), size = Math.abs(range[1] - range[0]) / order.length;
        move(i, order[Math.max(0, Math.min(order.length - 1, Math.floor((y - Math.min(...range)) / size)))]);
      } else {
        const { domain: [low, high], range: [left_, right] } = svg.scale("x"), share = Math.max(0, Math.min(1, (x - left_) / (right - left_)));
        const entryThere = low + share * (high - low);
        move(i, column.step === 1 ? Math.round(entryThere) : entryThere);
      }
    });
    return svg;
  }
  return { panel, paint, stop: () => { run++; } };
}
