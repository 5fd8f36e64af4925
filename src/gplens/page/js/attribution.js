// Integrated Gradients along the straight line from x0 to x, by adaptive Gauss-Kronrod panels (MATH 4.1).
import { KRONROD } from "./gauss.js";

const MOST_PANELS = 40;

/** The integral of dT/dx_k over one panel for each output, with an error estimate for each feature. */
function panel(model, x0, d, outputs, a, b) {
  const width = b - a, features = d.length, size = outputs.length * features;
  const kronrod = new Float64Array(size), gauss = new Float64Array(size), x = new Float64Array(features);
  for (const { t, w, gauss: g } of KRONROD) {
    const at = a + width * t;
    for (let j = 0; j < features; j++) x[j] = x0[j] + at * d[j];
    const { m, v } = model.posterior.at(x, { gradient: true, variance: !model.response.linear });
    model.response.jet(m, v, outputs).forEach(({ byM, byV }, o) => {
      const gradient = model.posterior.pullBack(x, byM, byV);
      for (let j = 0; j < features; j++) {
        const value = width * gradient[j] * d[j];
        kronrod[o * features + j] += w * value;
        gauss[o * features + j] += g * value;
      }
    });
  }
  return { a, b, kronrod, difference: kronrod.map((value, i) => Math.abs(value - gauss[i])) };
}

/** The error of Kronrod's rule, from its difference to the Gauss rule, as in QUADPACK. */
function errorOf(part, scale) {
  let worst = 0;
  for (const difference of part.difference) worst = Math.max(worst, difference);
  const ratio = (200 * worst) / scale;
  return Math.min(worst, scale * ratio * Math.sqrt(ratio));
}

/**
 * Attributions of the outputs asked for, one for each feature of the model:
 * {values[o][k], start[], end[], gap[], nodes, converged}. The tolerance is relative to the largest of them, or to the
 * change of the prediction.
 */
export function attribute(model, x0, x, outputs, tolerance) {
  const features = x.length, d = x.map((value, j) => value - x0[j]);
  const [start, end] = [x0, x].map((point) => {
    const { m, v } = model.posterior.at(point, { variance: !model.response.linear });
    const all = model.response.values(m, v);
    return outputs.map((o) => all[o]);
  });
  const values = outputs.map(() => new Float64Array(features));
  let nodes = 0, converged = true;
  if (d.some((step) => step !== 0)) {
    const parts = [panel(model, x0, d, outputs, 0, 1)];
    for (;;) {
      const largest = Math.max(...parts[0].kronrod.map((_, i) => Math.abs(parts.reduce((s, p) => s + p.kronrod[i], 0))));
      const change = Math.max(...end.map((value, o) => Math.abs(value - start[o])));
      const scale = Math.max(largest, change, 1e-300);
      const errors = parts.map((part) => errorOf(part, scale));
      const total = errors.reduce((s, e) => s + e, 0);
      converged = total <= tolerance * scale;
      if (converged || parts.length >= MOST_PANELS) break;
      const i = errors.indexOf(Math.max(...errors)), { a, b } = parts[i], half = (a + b) / 2;
      parts.splice(i, 1, panel(model, x0, d, outputs, a, half), panel(model, x0, d, outputs, half, b));
      nodes += KRONROD.length;
    }
    nodes += parts.length * KRONROD.length;
    for (const { kronrod } of parts) kronrod.forEach((v, i) => { values[(i / features) | 0][i % features] += v; });
  }
  const gap = values.map((own, o) => own.reduce((s, v) => s + v, 0) - (end[o] - start[o])); // (4.4)
  return { values, start, end, gap, nodes, converged };
}

/** Attributions of the columns of the table: those of their inputs, added up. `sets.of[k]` is the column of input k. */
export function byColumn(values, sets) {
  const sums = new Float64Array(sets.count);
  values.forEach((value, k) => { sums[sets.of[k]] += value; });
  return sums;
}
