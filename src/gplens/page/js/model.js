// The model of the page: predictions with intervals, attributions with error bars, slices, tail probabilities.
import { attribute, byColumn } from "./attribution.js";
import { classDeviations } from "./class_bars.js";
import { encodeSetting } from "./columns.js";
import { deviations } from "./error_bars.js";
import { outcomeOf } from "./outcomes.js";
import { Posterior } from "./posterior.js";
import { responseOf } from "./response.js";
import { circlesOf, pathBetween } from "./round_path.js";
import { normalQuantile } from "./special.js";

const NODES = 16;
const MORE_NODES = 24;
const CLASS_NODES = 10; // nodes and pairs of draws for classes: while one drags, and at rest with 16 nodes
const FEW_DRAWS = 64;
const DRAWS = 512;
export const AT_REST = 1e-9; // the error of attributions relative to the largest one
export const IN_MOTION = 3e-3; // what half of the points would change; it leaves some 1e-5, at most 1e-3

export class Model {
  constructor(spec) {
    this.columns = spec.columns;
    this.posterior = new Posterior(spec.parts);
    this.response = responseOf(spec.response, this.posterior.latents);
    this.outcome = outcomeOf(spec.outcome, this.response.links);
    this.whyNoOutcome = spec.no_outcome;
    this.rate = spec.rate;
    this.shift = spec.shift;
    const of = this.columns.flatMap((column, i) => new Array(column.inputs).fill(i));
    this.sets = { of, count: this.columns.length };
    this.circles = circlesOf(this.columns, this.rate, this.shift);
  }

  /** A setting of the columns as the point at which kernels are evaluated. */
  point(setting) {
    return this.scaled(encodeSetting(this.columns, setting));
  }

  scaled(inputs) {
    return inputs.map((value, j) => value * this.rate[j] + this.shift[j]);
  }

  /** Of every output the expected response with its interval; and how far the data determine the latent functions. */
  predict(x, level) {
    return this.predictFrom(this.posterior.at(x), level);
  }

  /** The same from m, v and the prior variance of every latent function. */
  predictFrom(at, level) {
    const { m, v } = at;
    const z = normalQuantile((1 + level) / 2), support = this.posterior.support(at);
    if (!this.response.links) {
      const { values, sd } = this.response.spreads(m, v);
      return { values, low: values.map((p, c) => p - sd[c]), high: values.map((p, c) => p + sd[c]), support, m, v };
    }
    const values = this.response.values(m, v);
    const ends = [-z, z].map((u) => m.map((x_, c) => this.response.links[c].g(x_ + u * Math.sqrt(Math.max(v[c], 0)))));
    const [low, high] = [ends[0].map((a, c) => Math.min(a, ends[1][c])), ends[0].map((a, c) => Math.max(a, ends[1][c]))];
    return { values, low, high, support, m, v };
  }

  /** P(y > t) of an output, from its marginal; NaN if the page does not know the likelihood (2.11). */
  exceeds(m, v, t, output = 0) {
    return this.outcome ? this.outcome.exceeds(m, v, t, output) : NaN;
  }

  /** The central interval of an observation y, or null. */
  outcomeInterval(m, v, level, output = 0) {
    return this.outcome ? this.outcome.interval(m, v, level, output) : null;
  }

  /** Attributions of the columns for the outputs asked for, from one point to another; `first` are the nodes of x0, if known. */
  explain(x0, x, outputs, tolerance = AT_REST, first = null) {
    const found = attribute(this, x0, x, outputs, tolerance, first);
    return { ...found, values: found.values.map((own) => byColumn(own, this.sets)) };
  }

  /** Deviations of the attributions of one output, and the change that more nodes would make; null if not known. */
  bars(x0, x, output, count = NODES) {
    const path = pathBetween(x0, x, this.circles);
    if (!this.response.links) {
      const few = count <= NODES;
      return classDeviations(this.posterior.parts, output, path, this.sets, few ? CLASS_NODES : NODES, few ? FEW_DRAWS : DRAWS);
    }
    let c = output, part = null;
    for (part of this.posterior.parts) { if (c < part.latents) break; c -= part.latents; }
    return deviations(part, c, this.response.links[output], path, this.sets, count);
  }

  /** The same with more nodes, for when nobody drags. */
  finerBars(x0, x, output) {
    return this.bars(x0, x, output, MORE_NODES);
  }

  /** The prediction of one output with its interval and support, with one column moved to each of some entries. */
  slice(setting, column, entries, output, level) {
    return entries.map((entry) => {
      const moved = setting.slice();
      moved[column] = entry;
      const { values, low, high, support } = this.predict(this.point(moved), level);
      return { entry, value: values[output], low: low[output], high: high[output], support };
    });
  }
}
