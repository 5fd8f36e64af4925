// The answer for a setting: prediction, interval, tail, attributions with error bars; as numbers and as CSV.
import { entryText, isolated } from "./columns.js";
import { AT_REST, IN_MOTION } from "./model.js";
import { normalQuantile } from "./special.js";

const FAST = 18; // milliseconds that error bars may take while one drags

/**
 * Everything that the what-if shows of a setting; `bars` is "live", "fine" or "none". `first` are the nodes of the baseline of
 * an earlier answer, which serve again if the baseline is the same.
 */
export function answerFor(model, state, level, baselineOf, bars, first = null) {
  const x = model.point(state.setting), { point: x0, name, setting } = baselineOf(state), output = state.shown;
  const held = first && first[0].x.every((value, j) => value === x0[j]) ? first : null;
  const found = model.explain(x0, x, [output], bars === "fine" ? AT_REST : IN_MOTION, held), at = model.predictFrom(found.at, level);
  const begin = performance.now();
  const known = bars === "none" ? null : bars === "fine" ? model.finerBars(x0, x, output) : model.bars(x0, x, output);
  const spent = performance.now() - begin, z = model.response.linear ? normalQuantile((1 + level) / 2) : 1;
  const columns = model.columns.map((column, i) => {
    const value = found.values[0][i], sd = known ? known[i] : null, entry = entryText(column, state.setting[i]);
    const from = setting && setting[i] !== state.setting[i] ? isolated(entryText(column, setting[i])) : null;
    const label = from ? `${isolated(column.name)}: ${from} → ${isolated(entry)}` : `${isolated(column.name)} = ${isolated(entry)}`;
    return { column, i, entry, label, value, sd, low: sd === null ? null : value - z * sd, high: sd === null ? null : value + z * sd };
  });
  const threshold = state.threshold ?? at.values[output];
  return {
    at, columns, output, baseline: name, spent, start: found.start[0], end: found.end[0], gap: found.gap[0], nodes: found.nodes, converged: found.converged,
    threshold, tail: model.exceeds(at.m[output], at.v[output], threshold, output), outcome: model.outcomeInterval(at.m[output], at.v[output], level, output), bars: known !== null, first: found.first,
  };
}

/** Whether error bars that took so long can follow a drag. */
export function fastEnough(spent) {
  return spent < FAST;
}

/** The answer as rows of a CSV file, with all digits. */
export function answerRows(model, answer, outputs, level) {
  const { at, columns } = answer;
  const rows = [["what", "name", "entry", "value", "low or deviation", "high"]];
  outputs.forEach((name, o) => rows.push(["prediction", name, `interval ${level}`, at.values[o], at.low[o], at.high[o]]));
  rows.push(["baseline", answer.baseline, "", answer.start, "", ""]);
  for (const { column, entry, value, sd } of columns) rows.push(["attribution", column.name, entry, value, sd === null ? "" : sd, ""]);
  rows.push(["support", "", "", at.support, "", ""]);
  if (answer.outcome) rows.push(["observation", "", `interval ${level}`, "", answer.outcome[0], answer.outcome[1]]);
  if (answer.outcome) rows.push(["tail", "P(y > t)", answer.threshold, answer.tail, "", ""]);
  return rows;
}
