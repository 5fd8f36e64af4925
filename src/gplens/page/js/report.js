// The report: any explanation, row by row and over all rows.
import { PARTS, waterfall } from "./charts.js";
import { numberText, signedText } from "./columns.js";
import { el, fill, folded, menu, textTable } from "./elements.js";
import { baselineCheck, origin, overAllRows, summary } from "./overview.js";
import { supportStrip } from "./report_charts.js";
import { outputOf, rowPanel } from "./row_table.js";

/** The view of the report; `change(part)` changes the state, `paint()` follows it. */
export function reportView(rows, state, change, { live }) {
  const list = rowPanel(rows, state, change), picked = el("section", { class: "card", id: "picked", "aria-label": "The row" });
  const overall = el("div", { class: "wide" });
  const view = el("div", { class: "report", id: "report", role: "tabpanel", "aria-labelledby": "tab-report" }, el("div", { class: "wide" }, summary(rows)),
    list.panel, picked, overall, el("div", { class: "wide about" }, baselineCheck(rows), origin(rows.report)));
  let drawnFor = null;

  function paintPicked(width) {
    const { row } = state, output = outputOf(rows, state, row), { against } = state;
    const several = rows.outputs.length > 1, contrast = several && against !== null && against !== output ? against : null;
    const bars = rows.bars(row, output, contrast);
    const [start, end] = [rows.startOf, rows.predictionOf].map((of) => of.call(rows, row, output) - (contrast === null ? 0 : of.call(rows, row, contrast)));
    const outputs = rows.outputs.map((name, o) => [String(o), String(name)]);
    const menus = several ? el("div", { class: "fields" },
      menu("output", [["", "the likeliest"], ...outputs], state.output === null ? "" : String(state.output), (o) => change({ output: o === "" ? null : Number(o) })),
      menu("rather than", [["", "(no contrast)"], ...outputs], against === null ? "" : String(against), (o) => change({ against: o === "" ? null : Number(o) }))) : null;
    const called = several ? `, ${rows.outputs[output]}${contrast === null ? "" : ` rather than ${rows.outputs[contrast]}`}` : "";
    const whiskers = contrast !== null && rows.report.no_contrasts ? `Without whiskers of the contrast: ${rows.report.no_contrasts}.` : rows.low ? `Whiskers: ${rows.report.interval}.` : "Without error bars.";
    const channels = rows.channels.map(({ name }) => name);
    const key = channels.flatMap((name, i) => [" ", el("span", { style: `color: ${PARTS[i % PARTS.length]}` }, "■"), ` through the ${name}`]);
    const { targets, converged } = rows.report, share = rows.priorShare(row, output);
    const doubt = share >= 0.01 ? ` ${Math.round(100 * share)} % of the attributions are collected where the data say little.` : "";
    fill(picked, el("h2", {}, el("bdi", {}, rows.name(row)), el("bdi", {}, called)), menus,
      el("p", {}, `From ${numberText(start)} at the baseline to ${numberText(end)}. ${targets && targets[row] !== null ? `Observed: ${typeof targets[row] === "number" ? numberText(targets[row]) : targets[row]}. ` : ""}`,
        converged && !converged[row] ? el("strong", {}, "This row missed the tolerance.") : null),
      el("figure", {}, waterfall(bars, start, end, width, { from: "baseline", to: "prediction" }), el("figcaption", {}, whiskers, ...key)),
      rows.report.support ? el("figure", {}, supportStrip(rows.report.support[row], width), el("figcaption", {}, `Support: 1 where the data determine the model, 0 where it is the prior's.${doubt}`)) : null,
      live ? el("p", {}, el("button", { type: "button", onclick: () => change({ tab: "whatif", setting: live.rowSetting(row), shown: live.outputs.length > 1 ? output : 0 }) }, "What if? Start from this row")) : null,
      folded("as a table", textTable("Attributions", ["feature", "attribution", ...channels, "from", "to"],
        bars.map((bar) => [bar.label, signedText(bar.value), ...bar.parts.map(signedText), bar.low === null ? "" : numberText(bar.low), bar.high === null ? "" : numberText(bar.high)]))));
  }

  function paint() {
    list.paint();
    paintPicked(Math.max(280, picked.clientWidth - 34));
    const width = Math.max(280, overall.clientWidth - 34), key = `${width} ${state.output}`;
    if (key !== drawnFor) fill(overall, overAllRows(rows, state.output, width));
    drawnFor = key;
  }
  return { view, paint };
}
