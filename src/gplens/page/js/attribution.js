// Integrated Gradients along the path from x0 to x: the latent functions are interpolated between Chebyshev
// points, and what is sharp, the response, is integrated between them (MATH 4.19a to 4.19c).
import { chebyshevPoints, interpolation, KRONROD } from "./gauss.js";
import { latentNodes, pullBack } from "./latent_path.js";
import { pathBetween } from "./round_path.js";

const MOST_PANELS = 60;
const FEW = 9, MANY = 17; // points of a panel; those of the first are among those of the second
const GRIDS = Object.fromEntries([FEW, MANY].map((count) => {
  const half = (count + 1) / 2, nodes = KRONROD.map(({ t }) => t);
  return [count, { t: chebyshevPoints(count), M: interpolation(count, nodes), coarse: interpolation(half, nodes) }];
}));

/** The latent functions of all parts at the points t of the path, a list of nodes for each part. */
function nodesAt(model, path, times) {
  const points = times.map(path.at);
  return model.posterior.parts.map((part) => latentNodes(part, points, !model.response.linear));
}

/** The points of a panel: all of them new, or every other one those of a panel with fewer points. */
function pointsOf(model, path, times, before) {
  if (!before) return nodesAt(model, path, times);
  const fresh = nodesAt(model, path, times.filter((_, i) => i % 2 === 1));
  return before.map((own, p) => times.map((_, i) => (i % 2 ? fresh[p][(i - 1) / 2] : own[i / 2])));
}

/** sum_r M_qr f(t_r) for the latent functions of all parts (4.19a). */
function interpolated(points, row, of) {
  const found = [];
  for (const nodes of points) {
    for (let c = 0; c < nodes[0].m.length; c++) {
      let sum = 0;
      for (let r = 0; r < row.length; r++) sum += row[r] * nodes[r][of][c];
      found.push(sum);
    }
  }
  return found;
}

/** Weights of dm and dv at every point of the panel, for each output: {byM[o][r][c], byV[o][r][c]} (4.19b). */
function weightsOf(jets, matrix, rule, latents, linear) {
  const zeros = () => jets[0].map(() => matrix[0].map(() => new Float64Array(latents)));
  const byM = zeros(), byV = linear ? null : zeros();
  jets.forEach((jet, q) => jet.forEach((own, o) => {
    const w = KRONROD[q][rule];
    if (w === 0) return;
    matrix[q].forEach((share, r) => {
      for (let c = 0; c < latents; c++) {
        byM[o][r][c] += w * share * own.byM[c];
        if (own.byV) byV[o][r][c] += w * share * own.byV[c];
      }
    });
  }));
  return { byM, byV };
}

/**
 * sum_r x_k'(t_r) (W^m_r d_k m(t_r) + W^v_r d_k v(t_r)) for each output; the weights are those of every `stride`-th point
 * (4.19c).
 */
function pulledBack(model, points, { byM, byV }, stride, steps, width) {
  const size = steps[0].length, found = new Float64Array(byM.length * size), slope = new Float64Array(size);
  byM.forEach((weights, o) => weights.forEach((own, r) => {
    const step = steps[r * stride];
    slope.fill(0);
    let first = 0;
    model.posterior.parts.forEach((part, p) => {
      const end = first + part.latents;
      pullBack(part, points[p][r * stride], own.subarray(first, end), byV && byV[o][r].subarray(first, end), slope);
      first = end;
    });
    for (let j = 0, at = o * size; j < size; j++, at++) found[at] += width * step[j] * slope[j];
  }));
  return found;
}

/** The integral over one panel for each output, and how far it is from that with half of the points and a Gauss rule. */
function panel(model, path, outputs, a, b, count, before = null) {
  const { t, M, coarse } = GRIDS[count], times = Array.from(t, (u) => a + (b - a) * u);
  const points = pointsOf(model, path, times, before), steps = times.map(path.step);
  const { latents } = model.posterior, { linear } = model.response;
  const jets = M.map((row) => model.response.jet(interpolated(points, row, "m"), linear ? [] : interpolated(points, row, "v"), outputs));
  const fine = pulledBack(model, points, weightsOf(jets, M, "w", latents, linear), 1, steps, b - a);
  const rough = pulledBack(model, points, weightsOf(jets, coarse, "gauss", latents, linear), 2, steps, b - a);
  return { a, b, count, points, fine, difference: fine.map((value, i) => Math.abs(value - rough[i])) };
}

/** The error of the finer sum, from its difference to the rougher one, as QUADPACK takes that of Kronrod's rule. */
function errorOf(part, scale) {
  let worst = 0;
  for (const difference of part.difference) worst = Math.max(worst, difference);
  const ratio = (200 * worst) / scale;
  return Math.min(worst, scale * ratio * Math.sqrt(ratio));
}

/** The panels that take the place of one: the same with more points, or its halves. */
function refined(model, path, outputs, { a, b, count, points }) {
  if (count < MANY) return [panel(model, path, outputs, a, b, MANY, points)];
  const half = (a + b) / 2;
  return [panel(model, path, outputs, a, half, MANY), panel(model, path, outputs, half, b, MANY)];
}

/**
 * Attributions of the outputs asked for, one for each feature of the model:
 * {values[o][k], start[], end[], gap[], nodes, converged}. The tolerance is relative to the largest of them, or to the
 * change of the prediction.
 */
export function attribute(model, x0, x, outputs, tolerance) {
  const path = pathBetween(x0, x, model.circles), { d } = path, still = d.every((step) => step === 0);
  let parts = still ? [] : [panel(model, path, outputs, 0, 1, FEW)], converged = true;
  const ends = still ? [0, 0] : [0, FEW - 1], points = still ? nodesAt(model, path, [0]) : parts[0].points;
  const [start, end] = ends.map((r) => {
    const all = model.response.values(points.flatMap((nodes) => nodes[r].m), points.flatMap((nodes) => nodes[r].v));
    return outputs.map((o) => all[o]);
  });
  const sums = () => parts.reduce((total, { fine }) => total.map((value, i) => value + fine[i]), new Float64Array(outputs.length * d.length));
  const change = Math.max(...end.map((value, o) => Math.abs(value - start[o])));
  while (parts.length) {
    const scale = sums().reduce((largest, value) => Math.max(largest, Math.abs(value)), Math.max(change, 1e-300));
    const errors = parts.map((part) => errorOf(part, scale));
    converged = errors.reduce((s, e) => s + e, 0) <= tolerance * scale;
    if (converged || parts.length >= MOST_PANELS) break;
    const i = errors.indexOf(Math.max(...errors));
    parts.splice(i, 1, ...refined(model, path, outputs, parts[i]));
  }
  const all = sums(), values = outputs.map((_, o) => all.subarray(o * d.length, (o + 1) * d.length));
  const gap = values.map((own, o) => own.reduce((s, v) => s + v, 0) - (end[o] - start[o])); // (4.4)
  return { values, start, end, gap, nodes: parts.reduce((sum, { count }) => sum + count, 0), converged };
}

/** Attributions of the columns of the table: those of their inputs, added up. `sets.of[k]` is the column of input k. */
export function byColumn(values, sets) {
  const sums = new Float64Array(sets.count);
  values.forEach((value, k) => { sums[sets.of[k]] += value; });
  return sums;
}
