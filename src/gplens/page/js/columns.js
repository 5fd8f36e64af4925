// From the columns of the user's table to the inputs of the model, as gplens.columns does it.

const DAY = 86400;
export const TURN = 2 * Math.PI;

function circle(turns) {
  return [Math.cos(TURN * turns), Math.sin(TURN * turns)];
}

function modulo(a, b) {
  return a - b * Math.floor(a / b);
}

/** The time of the year in years, leap years included. */
function yearFraction(seconds) {
  const year = new Date(Math.floor(seconds) * 1000).getUTCFullYear();
  const [begin, end] = [Date.UTC(year, 0, 1) / 1000, Date.UTC(year + 1, 0, 1) / 1000];
  return (seconds - begin) / (end - begin);
}

const CALENDAR = {
  trend: (x, { origin }) => [(x - origin) / DAY],
  day: (x) => circle(modulo(x, DAY) / DAY),
  week: (x) => circle(modulo(Math.floor(x / DAY) + 3, 7) / 7),
  year: (x) => circle(yearFraction(x)),
};

const FORWARD = {
  number: (x) => [x],
  boolean: (x) => [x],
  log: (x, { plus }) => [Math.log(x + plus)],
  cyclic: (x, { period }) => circle(x / period),
  datetime: (x, column) => column.parts.flatMap((part) => CALENDAR[part](x, column)),
};

/** The inputs of one entry: a number, null for a missing one, or the position of a category. */
export function encodeEntry(column, entry) {
  if (column.kind === "dropped" || column.inputs === 0) return [];
  if (column.kind === "category") return column.categories.map((_, i) => (i === entry ? 1 : 0));
  const x = entry === null ? column.fill : entry;
  const inputs = FORWARD[column.kind](x, column);
  return column.fill === null ? inputs : [...inputs, entry === null ? 1 : 0];
}

/** The inputs of a whole setting, before and after the scaling of the model. */
export function encodeSetting(columns, setting) {
  return Float64Array.from(columns.flatMap((column, i) => encodeEntry(column, setting[i])));
}

/** A name inside of a longer text, so that one that runs from right to left does not turn the numbers beside it. */
export function isolated(name) {
  return `\u2068${name}\u2069`;
}

/** A number as a text in the unit of its column. */
export function entryText(column, entry) {
  if (entry === null || entry === undefined || Number.isNaN(entry)) return "missing";
  if (column.kind === "category") return column.categories[entry];
  if (column.family === "boolean") return entry === 1 ? "True" : entry === 0 ? "False" : numberText(entry);
  if (column.family === "date") return new Date(entry * 1000).toISOString().slice(0, 10);
  if (column.family === "datetime") return new Date(entry * 1000).toISOString().slice(0, 16).replace("T", " ");
  if (column.family === "time") return new Date(entry * 1000).toISOString().slice(11, 16);
  return numberText(entry);
}

/** Four significant digits, as people read them. */
export function numberText(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("-", "−").replace("e+", "e");
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  const text = digits === 0 ? Math.round(value).toLocaleString("en") : String(Number(value.toFixed(digits)));
  return text.replace("-", "−");
}

/** With its sign. */
export function signedText(value) {
  return value > 0 ? `+${numberText(value)}` : numberText(value);
}
