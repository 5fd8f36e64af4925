// What the page shows, and the same in the fragment of its address, so that a link leads back to it.

/** The state at the start. */
export function firstState(setting) {
  return {
    tab: "report", row: 0, output: null, against: null, sort: "given", search: "", from: "", to: "",
    setting, pinned: null, baseline: "report", threshold: null, shown: 0,
  };
}

const TEXTS = ["tab", "sort", "search", "from", "to", "baseline"];
const NUMBERS = ["row", "output", "against", "threshold", "shown"];

function settingText(setting) {
  return setting.map((entry) => (entry === null ? "m" : String(entry))).join(",");
}

/** A setting from its text; null unless it has an entry for each column that the column can have. */
function settingOf(text, columns) {
  const entries = text.split(",").map((part) => (part === "m" ? null : part.trim() === "" ? NaN : Number(part)));
  const valid = entries.length === columns.length && entries.every((entry, i) => {
    const { kind, categories, fill } = columns[i];
    if (entry === null) return fill !== null;
    return kind === "category" ? Number.isInteger(entry) && entry >= 0 && entry < categories.length : Number.isFinite(entry);
  });
  return valid ? entries : null;
}

/** The fragment of a state: what differs from the first one. */
export function fragmentOf(state, first) {
  const parts = new URLSearchParams();
  for (const name of [...TEXTS, ...NUMBERS]) if (state[name] !== first[name]) parts.set(name, String(state[name]));
  for (const name of ["setting", "pinned"]) {
    const text = state[name] && settingText(state[name]);
    if (text && text !== (first[name] && settingText(first[name]))) parts.set(name, text);
  }
  return parts.toString();
}

/** The state of a fragment; parts that make no sense are left as they are at the start. */
export function stateOf(fragment, first, { rows, outputs, columns, tabs, sorts, baselines }) {
  const parts = new URLSearchParams(fragment), state = { ...first };
  const within = (name, end) => {
    const number = Number(parts.get(name));
    if (parts.has(name) && Number.isInteger(number) && number >= 0 && number < end) state[name] = number;
  };
  const among = (name, choices) => { if (choices.includes(parts.get(name))) state[name] = parts.get(name); };
  within("row", rows);
  within("output", outputs);
  within("against", outputs);
  within("shown", outputs);
  among("tab", tabs);
  among("sort", sorts);
  among("baseline", baselines);
  if (/^row-\d+$/.test(parts.get("baseline") ?? "") && Number(parts.get("baseline").slice(4)) < rows) state.baseline = parts.get("baseline");
  state.search = parts.get("search") ?? "";
  for (const name of ["from", "to"]) if (parts.has(name) && Number.isFinite(Number(parts.get(name)))) state[name] = parts.get(name);
  if (parts.has("threshold") && Number.isFinite(Number(parts.get("threshold")))) state.threshold = Number(parts.get("threshold"));
  for (const name of ["setting", "pinned"]) if (parts.has(name)) state[name] = settingOf(parts.get(name), columns) ?? first[name];
  return state;
}
