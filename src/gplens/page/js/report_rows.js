// The data of the report: rows with their entries, predictions and attributions.
import { decodeFloats } from "./arrays.js";
import { isolated, numberText } from "./columns.js";

/** A table of entries: texts where there are any, else numbers. */
class Table {
  constructor({ numbers, words, codes }, columns) {
    this.numbers = decodeFloats(numbers);
    Object.assign(this, { words, codes, columns });
  }

  number(row, k) {
    return this.numbers[row * this.columns + k];
  }

  text(row, k) {
    const code = this.codes ? this.codes[row][k] : -1;
    if (code >= 0) return this.words[code];
    const number = this.number(row, k);
    return Number.isNaN(number) ? "" : numberText(number);
  }
}

export class ReportRows {
  constructor(report) {
    const d = report.features.length;
    this.report = report;
    this.features = report.features;
    this.outputs = report.outputs ?? [null];
    this.count = report.numbers.length;
    for (const name of ["values", "low", "high", "prediction", "start", "gap", "error", "prior_share"]) {
      this[name] = report[name] === null ? null : decodeFloats(report[name]);
    }
    for (const name of ["contrasts", "sizes"]) {
      this[name] = report[name] ? { low: decodeFloats(report[name].low), high: decodeFloats(report[name].high) } : null;
    }
    this.channels = report.channels.map(({ name, values }) => ({ name, values: decodeFloats(values) }));
    this.inputs = new Table(report.inputs, d);
    this.origin = report.origin ? new Table(report.origin, d) : null;
  }

  name(row) {
    const number = this.report.numbers[row];
    const name = this.report.names ? this.report.names[row] : String(number);
    return /^\d+$/.test(name) ? `row ${name}` : name;
  }

  predictionOf(row, output) {
    return this.prediction[row * this.outputs.length + output];
  }

  startOf(row, output) {
    return this.start[row * this.outputs.length + output];
  }

  /** The share of the attributions that is collected where the data say little; NaN if it is not known (4.14). */
  priorShare(row, output) {
    return this.prior_share ? this.prior_share[row * this.outputs.length + output] : NaN;
  }

  /** The output with the largest prediction. */
  likeliest(row) {
    let best = 0;
    for (let o = 1; o < this.outputs.length; o++) if (this.predictionOf(row, o) > this.predictionOf(row, best)) best = o;
    return best;
  }

  /** The attribution of a feature with the ends of its interval, or null ends. */
  mark(row, output, k) {
    const at = (row * this.outputs.length + output) * this.features.length + k;
    const low = this.low ? this.low[at] : NaN, high = this.high ? this.high[at] : NaN;
    const known = Number.isFinite(low) && Number.isFinite(high);
    return { value: this.values[at], low: known ? low : null, high: known ? high : null };
  }

  /** The interval of output less another, from that of the pair in its order; null ends if it is not known. */
  contrastEnds(row, output, against, k) {
    if (!this.contrasts) return { low: null, high: null };
    const [i, j] = output < against ? [output, against] : [against, output], { length } = this.outputs;
    const pair = (i * (2 * length - i - 1)) / 2 + (j - i - 1), at = (pair * this.count + row) * this.features.length + k;
    const [low, high] = [this.contrasts.low[at], this.contrasts.high[at]];
    if (!Number.isFinite(low)) return { low: null, high: null };
    return output < against ? { low, high } : { low: -high, high: -low };
  }

  /** The interval of the mean |attribution| of a feature for an output, or for the likeliest one of each row; or null. */
  sizeEnds(output, k) {
    const at = (output === null ? this.outputs.length : output) * this.features.length + k;
    return this.sizes && Number.isFinite(this.sizes.low[at]) ? { low: this.sizes.low[at], high: this.sizes.high[at] } : null;
  }

  /** What of an attribution comes through each channel; empty if that is not known (11.1). */
  parts(row, output, k) {
    const at = (row * this.outputs.length + output) * this.features.length + k;
    return this.channels.map(({ values }) => values[at]);
  }

  /** The bars of a row: of an output, or of the contrast with another one. */
  bars(row, output, against = null) {
    return this.features.map((name, k) => {
      const entry = this.inputs.text(row, k), label = entry === "" ? name : `${isolated(name)} = ${isolated(entry)}`;
      const mark = this.mark(row, output, k);
      const parts = this.parts(row, output, k);
      if (against === null) return { name, label, ...mark, parts };
      const other = this.parts(row, against, k), ends = this.contrastEnds(row, output, against, k);
      return { name, label, value: mark.value - this.mark(row, against, k).value, ...ends, parts: parts.map((part, i) => part - other[i]) };
    });
  }

  /** How far a prediction is from what was observed: a difference, or 1 - P(the observed class). NaN if unknown. */
  mistake(row) {
    const { targets } = this.report;
    if (!targets || targets[row] === null) return NaN;
    const target = targets[row], { of_class: ofClass } = this.report;
    if (ofClass) return ofClass[row] ? 1 - this.predictionOf(row, 0) : this.predictionOf(row, 0);
    if (typeof target === "number" && this.outputs.length === 1) return target - this.predictionOf(row, 0);
    const names = this.outputs.map((name) => String(name)), place = names.findIndex((name) => name === String(target) || name === `class ${target}`);
    return place < 0 ? NaN : 1 - this.predictionOf(row, place);
  }

  /** What a search looks at. */
  words(row) {
    const entries = this.features.map((name, k) => `${name} = ${this.inputs.text(row, k)}`);
    return [this.name(row), ...entries].join("\n").toLowerCase();
  }
}
