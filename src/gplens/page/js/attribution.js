// Integrated Gradients along the path from x0 to x: the latent functions are interpolated between Chebyshev
// points, and what is sharp, the response, is integrated between them (MATH 4.19a to 4.19c).
import { chebyshevPoints, interpolation, KRONROD } from "./gauss.js";
import { addVariances, latentNodes, marginalsOf, pullBack } from "./latent_path.js";
import { pathBetween } from "./round_path.js";

const MOST_PANELS = 60;
// Points of a panel for m, and which of them serve for v, whose product with A is what a point costs. Those of a level are among
// those of the next one.
const LEVELS = [[9, 2], [17, 2], [17, 1]].map(([count, every]) => {
  const nodes = KRONROD.map(({ t }) => t), ofV = (count - 1) / every + 1, half = (points) => interpolation((points + 1) / 2, nodes);
  const fine = { m: interpolation(count, nodes), v: interpolation(ofV, nodes), rule: "w", stride: 1 };
  return { count, every, t: chebyshevPoints(count), fine, rough: { m: half(count), v: half(ofV), rule: "gauss", stride: 2 } };
});
const LAST = LEVELS.length - 1;
const FINE = 1e-5; // tolerances below it begin at the second level; those above it are of a drag

/** The latent functions of all parts at the points t of the path, a list of nodes for each part. */
function nodesAt(model, path, times) {
  const points = times.map(path.at);
  return model.posterior.parts.map((part) => latentNodes(part, points));
}

/** The points t of a panel on the whole path. */
function timesOf(a, b, t) {
  return Array.from(t, (s) => a + (b - a) * s);
}

/** The nodes of a panel for each part; those of the path's beginning and of a panel with fewer points are not evaluated again. */
function pointsOf(model, path, a, b, { t, every }, before) {
  const held = before ? before[0].length : a === 0 && path.first ? 1 : 0, times = timesOf(a, b, t);
  const stale = (i) => held === times.length || (held === 1 ? i === 0 : held > 1 && i % 2 === 0);
  const fresh = nodesAt(model, path, times.filter((_, i) => !stale(i)));
  return model.posterior.parts.map((part, p) => {
    let next = 0;
    const nodes = times.map((_, i) => (!stale(i) ? fresh[p][next++] : before ? before[p][held === times.length ? i : i / 2] : path.first[p]));
    if (!model.response.linear) addVariances(part, nodes.filter((_, i) => i % every === 0));
    return nodes;
  });
}

/** sum_r M_qr f(t_r) for the latent functions of all parts, from every `stride`-th node (4.19a). */
function interpolated(points, row, of, stride) {
  const found = [];
  for (const nodes of points) {
    for (let c = 0; c < nodes[0].m.length; c++) {
      let sum = 0;
      for (let r = 0; r < row.length; r++) sum += row[r] * nodes[r * stride][of][c];
      found.push(sum);
    }
  }
  return found;
}

/** Weights of the derivatives of m or v at the points of the panel, for each output: W[o][r][c] (4.19b). */
function weightsOf(jets, matrix, rule, of, latents) {
  const W = jets[0].map(() => matrix[0].map(() => new Float64Array(latents)));
  jets.forEach((jet, q) => jet.forEach((own, o) => {
    const w = KRONROD[q][rule];
    if (w === 0 || !own[of]) return;
    matrix[q].forEach((share, r) => { for (let c = 0; c < latents; c++) W[o][r][c] += w * share * own[of][c]; });
  }));
  return W;
}

/** sum_r x_k'(t_r) (W^m_r d_k m(t_r) + W^v_r d_k v(t_r)) for each output (4.19c). */
function pulledBack(model, points, jets, { m, v, rule, stride }, every, steps, width) {
  const { latents, parts } = model.posterior, byM = weightsOf(jets, m, rule, "byM", latents), size = steps[0].length;
  const byV = model.response.linear ? null : weightsOf(jets, v, rule, "byV", latents);
  const found = new Float64Array(byM.length * size), slope = new Float64Array(size);
  byM.forEach((weights, o) => weights.forEach((W, r) => {
    const step = steps[r * stride];
    slope.fill(0);
    let first = 0;
    parts.forEach((part, p) => {
      const end = first + part.latents, own = (numbers) => numbers.subarray(first, end);
      pullBack(part, points[p][r * stride], own(W), byV && r % every === 0 ? own(byV[o][r / every]) : null, slope);
      first = end;
    });
    for (let j = 0, at = o * size; j < size; j++, at++) found[at] += width * step[j] * slope[j];
  }));
  return found;
}

/** The integral over one panel for each output, and how far it is from that with half of the points and a Gauss rule. */
function panel(model, path, outputs, a, b, level, before = null) {
  const { count, every, fine, rough } = LEVELS[level], points = pointsOf(model, path, a, b, LEVELS[level], before), { linear } = model.response;
  const steps = timesOf(a, b, LEVELS[level].t).map(path.step);
  const jets = fine.m.map((row, q) => model.response.jet(interpolated(points, row, "m", 1), linear ? [] : interpolated(points, fine.v[q], "v", every), outputs, path.quick));
  const [sum, other] = [fine, rough].map((sums) => pulledBack(model, points, jets, sums, every, steps, b - a));
  return { a, b, level, count, points, sum, difference: sum.map((value, i) => Math.abs(value - other[i])) };
}

/** The error of the finer sum, from its difference to the rougher one, as QUADPACK takes that of Kronrod's rule. */
function errorOf(part, scale) {
  let worst = 0;
  for (const difference of part.difference) worst = Math.max(worst, difference);
  const ratio = (200 * worst) / scale;
  return Math.min(worst, scale * ratio * Math.sqrt(ratio));
}

/** The panels that take the place of one: the same with more points, or its halves. */
function refined(model, path, outputs, { a, b, level, points }) {
  const linearDone = model.response.linear && LEVELS[level].count === LEVELS[LAST].count; // more points of v would change nothing
  if (level < LAST && !linearDone) return [panel(model, path, outputs, a, b, level + 1, points)];
  const half = (a + b) / 2;
  return [panel(model, path, outputs, a, half, LAST), panel(model, path, outputs, half, b, LAST)];
}

/**
 * Attributions of the outputs asked for, one for each feature of the model:
 * {values[o][k], start[], end[], gap[], nodes, converged, first, at}. The tolerance is relative to the largest of them, or to
 * the change of the prediction. `first` are the nodes of x0, which the caller may hold for the next x; `at` has m, v and the
 * prior variances at x.
 */
export function attribute(model, x0, x, outputs, tolerance, first = null) {
  const path = { ...pathBetween(x0, x, model.circles), first, quick: tolerance > FINE };
  const { d } = path, still = d.every((step) => step === 0);
  let parts = still ? [] : [panel(model, path, outputs, 0, 1, path.quick ? 0 : 1)], converged = true;
  const points = still ? first?.map((node) => [node]) ?? nodesAt(model, path, [0]) : parts[0].points;
  const ends = [points.map((nodes) => nodes[0]), points.map((nodes) => nodes.at(-1))];
  const marginals = ends.map((nodes) => marginalsOf(model.posterior.parts, nodes));
  const [start, end] = marginals.map(({ m, v }) => { const all = model.response.values(m, v); return outputs.map((o) => all[o]); });
  const sums = () => parts.reduce((total, { sum }) => total.map((value, i) => value + sum[i]), new Float64Array(outputs.length * d.length));
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
  return { values, start, end, gap, nodes: parts.reduce((sum, { count }) => sum + count, 0), converged, first: ends[0], at: marginals[1] };
}

/** Attributions of the columns of the table: those of their inputs, added up. `sets.of[k]` is the column of input k. */
export function byColumn(values, sets) {
  const sums = new Float64Array(sets.count);
  values.forEach((value, k) => { sums[sets.of[k]] += value; });
  return sums;
}
