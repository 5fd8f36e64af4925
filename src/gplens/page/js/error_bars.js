// Posterior deviations of the attributions of columns through a link of one latent function (MATH 5.1, 5.2, 5.19).
import { dot, matrixTimesMany } from "./arrays.js";
import { gaussLegendre } from "./gauss.js";
import { addVariances, latentNodes } from "./latent_path.js";
import { pairMoments } from "./pair_moments.js";

/** What error bars need of one latent function at a node: m, v, k, A k, and derivatives in the direction of each column. */
export function columnNode(part, c, node, d, sets) {
  const columns = Array.from({ length: sets.count }, () => new Float64Array(part.n));
  const diagonal = new Float64Array(part.d), mk = new Float64Array(sets.count), vk = new Float64Array(sets.count);
  part.kernel.diagonal(node.x, diagonal);
  const { weight } = part.means[c];
  for (let j = 0; j < part.d; j++) {
    if (d[j] === 0) continue;
    const S = sets.of[j], own = columns[S];
    for (let i = 0, at = j * part.n; i < part.n; i++, at++) own[i] += d[j] * node.G[at];
    vk[S] += d[j] * diagonal[j];
    if (weight) mk[S] += d[j] * weight[j];
  }
  columns.forEach((own, S) => {
    mk[S] += dot(own, part.beta[c]);
    vk[S] -= 2 * dot(own, node.Ak[c]);
  });
  return { x: node.x, m: node.m[c], v: node.v[c], mk, vk, k: node.k, Ak: node.Ak[c], columns };
}

/** Vectors u_r with sum_r u_r u_r' = H up to a share of its trace, by Cholesky with pivots; H has second moments. */
export function factors(H, Q, least = 1e-9) {
  const rest = H.map((row) => row.slice()), found = [], trace = rest.reduce((s, row, q) => s + row[q], 0);
  for (let r = 0; r < Q; r++) {
    let pivot = 0;
    for (let q = 1; q < Q; q++) if (rest[q][q] > rest[pivot][pivot]) pivot = q;
    if (!(rest[pivot][pivot] > least * trace)) break;
    const root = Math.sqrt(rest[pivot][pivot]), u = rest.map((row) => row[pivot] / root);
    for (let q = 0; q < Q; q++) for (let p = 0; p < Q; p++) rest[q][p] -= u[q] * u[p];
    found.push(u);
  }
  return found;
}

/**
 * The standard deviation of the attribution of every column; null where the moments of pairs are not known.
 * Nodes are those of a Gauss rule. The kernel between two nodes has a ridge where they meet if it is a Matern kernel:
 * its part of the linear case is integrated on both sides of the ridge.
 */
export function deviations(part, c, link, path, sets, count) {
  const { t, w } = gaussLegendre(count), points = Array.from(t, path.at), steps = Array.from(t, path.step);
  const nodes = addVariances(part, latentNodes(part, points)).map((node, q) => columnNode(part, c, node, steps[q], sets));
  const E = pairMoments(link, nodes.map((node) => node.m), nodes.map((node) => node.v));
  if (E === null) return null;
  const variance = new Float64Array(sets.count);
  const H = nodes.map(() => new Float64Array(count));
  const slopes = nodes.map((node) => link.moments(node.m, node.v));
  for (let q = 0; q < count; q++) {
    for (let p = 0; p <= q; p++) {
      const a = nodes[q], b = nodes[p], prior = part.kernel.pair(a.x, b.x, steps[q], steps[p], sets);
      const cov = q === p ? a.v : prior.k - dot(a.k, b.Ak), e = E(q, p, cov), weight = w[q] * w[p] * (q === p ? 1 : 2);
      H[q][p] = H[p][q] = w[q] * w[p] * e.E11;
      for (let S = 0; S < sets.count; S++) {
        const mk = a.mk[S], ml = b.mk[S], vk = a.vk[S], vl = b.vk[S];
        let sum = -(slopes[q][1] * mk + 0.5 * slopes[q][2] * vk) * (slopes[p][1] * ml + 0.5 * slopes[p][2] * vl);
        sum += e.E11 * mk * ml + (link.linear ? 0 : e.E11 * prior.both[S]);
        if (!link.linear) {
          const ck = prior.left[S] - dot(a.columns[S], b.Ak), cl = prior.right[S] - dot(b.columns[S], a.Ak); // (5.13)
          sum += 0.5 * (e.E12 * mk * vl + e.E21 * vk * ml) + 0.25 * e.E22 * vk * vl;
          sum += e.E21 * mk * cl + e.E12 * ck * ml + 0.5 * (e.E31 * vk * cl + e.E13 * ck * vl) + e.E22 * ck * cl; // (5.1)
        }
        variance[S] += weight * sum;
      }
    }
  }
  if (link.linear) addPrior(variance, part, path, sets, count, link.scale * link.scale);
  subtractFitted(variance, part.A[c], nodes, factors(H, count), movedColumns(path.d, sets));
  return variance.map((value) => Math.sqrt(Math.max(value, 0)));
}

/** int int d_S d_S' k over the triangle s < t, twice: no ridge inside. */
function addPrior(variance, part, { at, step }, sets, count, factor) {
  const { t, w } = gaussLegendre(2 * count);
  t.forEach((s, q) => t.forEach((u, p) => {
    const { both } = part.kernel.pair(at(s), at(s * u), step(s), step(s * u), sets);
    for (let S = 0; S < sets.count; S++) variance[S] += 2 * factor * w[q] * w[p] * s * both[S];
  }));
}

/** The columns whose inputs differ between the ends of the path; the others have no attribution, and no deviation. */
export function movedColumns(d, sets) {
  return [...new Set(sets.of.filter((_, j) => d[j] !== 0))];
}

/** Subtracts sum_qp H_qp G_q A G_p for every column that moved: a quadratic form of A for each factor of H. */
export function subtractFitted(variance, A, nodes, roots, moved) {
  const n = nodes[0].k.length, count = roots.length * moved.length;
  const g = new Float64Array(count * n);
  roots.forEach((u, r) => moved.forEach((S, s) => {
    const at = (r * moved.length + s) * n;
    nodes.forEach((node, q) => { const own = node.columns[S], share = u[q]; for (let i = 0; i < n; i++) g[at + i] += share * own[i]; });
  }));
  const Ag = matrixTimesMany(A, g, n, count, new Float64Array(count * n));
  for (let i = 0; i < count; i++) variance[moved[i % moved.length]] -= dot(g.subarray(i * n, (i + 1) * n), Ag, i * n);
}
