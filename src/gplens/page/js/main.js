// The page: read the data, keep the state, show the report or the what-if.
import { decodeFloats } from "./arrays.js";
import { el, fill } from "./elements.js";
import { Model } from "./model.js";
import { reportView } from "./report.js";
import { ReportRows } from "./report_rows.js";
import { firstState, fragmentOf, stateOf } from "./state.js";
import { whatifView } from "./whatif.js";

const SORTS = ["given", "high", "low", "change", "mistake", "unsure", "inexact"];

/** The model with its rows as settings and its baselines as points. */
function liveOf(content, rows) {
  const spec = content.live, model = new Model(spec), table = decodeFloats(spec.rows), width = spec.columns.length;
  const entry = (column, value) => (!Number.isNaN(value) ? value : column.fill !== null && column.kind !== "category" ? null : column.typical);
  const rowSetting = (row) => spec.columns.map((column, i) => entry(column, table[row * width + i]));
  const rowName = (row) => rows.name(row);
  const baselineOf = (state) => {
    if (state.baseline === "pinned" && state.pinned) return { name: "A", setting: state.pinned, point: model.point(state.pinned) };
    if (state.baseline.startsWith("row-")) {
      const row = Number(state.baseline.slice(4)), setting = rowSetting(row);
      return { name: rowName(row), setting, point: model.point(setting) };
    }
    const { name, inputs, setting } = spec.baselines.find(({ id }) => id === state.baseline) ?? spec.baselines[0];
    return { name, setting, point: model.scaled(Float64Array.from(inputs)) };
  };
  const outputs = spec.outputs.length > 1 ? spec.outputs : [content.report.outputs ? spec.outputs[0] : content.output ?? ""];
  const likeliest = (setting) => { const { values } = model.predict(model.point(setting), 0.9); return values.indexOf(Math.max(...values)); };
  return { model, outputs, baselines: spec.baselines, rowSetting, rowName, baselineOf, likeliest };
}

function start() {
  const content = JSON.parse(document.getElementById("data").textContent);
  const rows = new ReportRows(content.report), live = content.live ? liveOf(content, rows) : null;
  const columns = live ? live.model.columns : [];
  const first = firstState(live ? live.rowSetting(0) : []);
  if (live) first.baseline = live.baselines[0].id;
  if (live && live.outputs.length > 1) first.shown = live.likeliest(first.setting);
  const allowed = {
    rows: rows.count, outputs: Math.max(rows.outputs.length, live ? live.outputs.length : 1), columns, sorts: SORTS,
    tabs: live ? ["report", "whatif"] : ["report"], baselines: [...(live ? live.baselines.map(({ id }) => id) : []), "pinned"],
  };
  const state = stateOf(location.hash.slice(1), first, allowed);
  let written = location.hash.slice(1);

  function change(part) {
    Object.assign(state, part);
    if (state.pinned === null && state.baseline === "pinned") state.baseline = first.baseline;
    const fragment = fragmentOf(state, first);
    if (fragment !== written) {
      written = fragment;
      history.replaceState(null, "", `#${fragment}`);
    }
    if (Object.keys(part).length) show();
  }

  const report = reportView(rows, state, change, { live }), whatif = live ? whatifView(live, state, change, content.report.level) : null;
  const names = { report: "Report", whatif: "What if?" };
  const tabs = allowed.tabs.map((tab) => el("button", { type: "button", role: "tab", id: `tab-${tab}`, "aria-controls": tab, onclick: () => change({ tab }) }, names[tab]));
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || tabs.length < 2) return;
    change({ tab: allowed.tabs[(allowed.tabs.indexOf(state.tab) + step + tabs.length) % tabs.length] });
    tabs[allowed.tabs.indexOf(state.tab)].focus();
  };
  fill(document.getElementById("app"),
    el("header", {}, el("h1", {}, el("bdi", {}, content.title)), el("nav", { role: "tablist", "aria-label": "Views", hidden: tabs.length < 2, onkeydown: move }, tabs),
      live ? null : el("p", { class: "dim", id: "why-not" }, "There are no sliders, since ", el("bdi", {}, content.why_not), ".")),
    el("main", {}, report.view, whatif ? whatif.view : null),
    el("footer", { class: "dim" }, "Written by gplens. This file asks nothing of the network."));

  function show(options) {
    allowed.tabs.forEach((tab, i) => {
      tabs[i].setAttribute("aria-selected", String(tab === state.tab));
      tabs[i].tabIndex = tab === state.tab ? 0 : -1;
    });
    report.view.hidden = state.tab !== "report";
    if (whatif) whatif.view.hidden = state.tab !== "whatif";
    if (state.tab === "report") report.paint();
    else whatif.follow(options ?? { resized: !whatif.view.dataset.seen });
    if (state.tab === "whatif") whatif.view.dataset.seen = "yes";
  }
  addEventListener("hashchange", () => {
    const fragment = location.hash.slice(1);
    if (fragment === written) return;
    written = fragment;
    Object.assign(state, stateOf(fragment, first, allowed));
    show();
  });
  let waiting = 0, width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(() => show({ resized: true }), 120);
  });
  show();
  document.documentElement.dataset.ready = "yes";
}

start();
