// Posterior deviations of the attributions of a class: draws of the logits along the path, and the rest given them (MATH 5.25).
import { dot } from "./arrays.js";
import { columnNode, factors, movedColumns, subtractFitted } from "./error_bars.js";
import { gaussLegendre } from "./gauss.js";
import { addVariances, latentNodes } from "./latent_path.js";
import { normalQuantile } from "./special.js";

const ROUGHEST = 1e-5; // of a variance along the path; directions with less are left out, an error far below that of the draws
const PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97];

/** A quasi-random standard normal: Kronecker's sequence, whose rates are roots of primes; beyond those, of sums of them. */
function normalDraw(i, axis) {
  const rate = Math.sqrt(PRIMES[axis % PRIMES.length] + 100 * Math.floor(axis / PRIMES.length)), u = (0.5 + (i + 1) * rate) % 1;
  return normalQuantile(Math.min(Math.max(u, 1e-12), 1 - 1e-12));
}

/** One logit along the path: nodes, and factors of the covariance of its values, continued to its derivatives. */
function logitAlong(part, c, shared, steps, sets, moved) {
  const nodes = shared.nodes.map((node, q) => columnNode(part, c, node, steps[q], sets)), Q = nodes.length;
  const F = nodes.map(() => new Float64Array(Q)), D = moved.map(() => nodes.map(() => new Float64Array(Q)));
  for (let q = 0; q < Q; q++) {
    for (let p = 0; p <= q; p++) {
      const a = nodes[q], b = nodes[p], prior = shared.pairs[q][p];
      F[q][p] = F[p][q] = q === p ? a.v : prior.k - dot(a.k, b.Ak); // (1.3)
      moved.forEach((S, s) => {
        D[s][q][p] = prior.left[S] - dot(a.columns[S], b.Ak); // (5.13)
        D[s][p][q] = prior.right[S] - dot(b.columns[S], a.Ak);
      });
    }
  }
  const trace = F.reduce((sum, row, q) => sum + row[q], 0), U = [], V = [];
  while (U.length < Q) {
    let pivot = 0;
    for (let q = 1; q < Q; q++) if (F[q][q] > F[pivot][pivot]) pivot = q;
    if (!(F[pivot][pivot] > ROUGHEST * trace)) break;
    const root = Math.sqrt(F[pivot][pivot]), u = F.map((row) => row[pivot] / root), ofColumns = D.map((own) => own.map((row) => row[pivot] / root));
    for (let q = 0; q < Q; q++) {
      for (let p = 0; p < Q; p++) F[q][p] -= u[q] * u[p];
      D.forEach((own, s) => { for (let p = 0; p < Q; p++) own[q][p] -= ofColumns[s][q] * u[p]; });
    }
    U.push(u);
    V.push(ofColumns);
  }
  return { part, c, nodes, U, V, pairs: shared.pairs, H: nodes.map(() => new Float64Array(Q)) };
}

/** All logits along the path. */
function logitsAlong(parts, path, sets, t, moved) {
  const points = Array.from(t, path.at), steps = Array.from(t, path.step);
  return parts.flatMap((part) => {
    const pairs = points.map((a, q) => points.slice(0, q + 1).map((b, p) => part.kernel.pair(a, b, steps[q], steps[p], sets)));
    const shared = { nodes: addVariances(part, latentNodes(part, points)), pairs };
    return part.beta.map((_, c) => logitAlong(part, c, shared, steps, sets, moved));
  });
}

/**
 * The deviations of the attributions of a class, one for each column: Var = Var E[ . | f] + E Var[ . | f], f the logits
 * at the nodes. The outer moments are averages over `draws` quasi-random ones and their mirror images; the inner ones
 * are those of Gaussian derivatives given f, and exact.
 */
export function classDeviations(parts, output, path, sets, count, draws) {
  const rule = gaussLegendre(count), moved = movedColumns(path.d, sets), width = moved.length;
  const logits = logitsAlong(parts, path, sets, rule.t, moved);
  const first = new Float64Array(width), square = new Float64Array(width), slopes = logits.map(() => new Float64Array(count));
  const f = logits.map(() => new Float64Array(count)), sums = new Float64Array(width);
  const shifts = logits.map(({ nodes }) => moved.map((S) => Float64Array.from(nodes, (node) => node.mk[S])));
  for (let i = 0; i < draws; i++) {
    let axis = 0;
    const z = logits.map(({ U }) => Float64Array.from(U, () => normalDraw(i, axis++)));
    for (const sign of [1, -1]) {
      logits.forEach(({ nodes, U }, j) => nodes.forEach((node, q) => {
        f[j][q] = node.m;
        for (let r = 0; r < U.length; r++) f[j][q] += sign * z[j][r] * U[r][q];
      }));
      slopesOf(f, output, rule.w, slopes);
      sums.fill(0);
      logits.forEach(({ V, H }, j) => {
        const own = slopes[j];
        for (let q = 0; q < count; q++) for (let p = 0; p <= q; p++) H[q][p] += (own[q] * own[p]) / (2 * draws);
        for (let s = 0; s < width; s++) {
          sums[s] += dot(own, shifts[j][s]);
          for (let r = 0; r < V.length; r++) sums[s] += sign * z[j][r] * dot(own, V[r][s]);
        }
      });
      for (let s = 0; s < width; s++) { first[s] += sums[s] / (2 * draws); square[s] += sums[s] ** 2 / (2 * draws); }
    }
  }
  const variance = new Float64Array(sets.count);
  moved.forEach((S, s) => { variance[S] = square[s] - first[s] ** 2; });
  for (const logit of logits) addGivenValues(variance, logit, moved);
  return variance.map((value) => Math.sqrt(Math.max(value, 0)));
}

/** w_q dS_o/df_j at every node, into `slopes`. */
function slopesOf(f, output, w, slopes) {
  for (let q = 0; q < w.length; q++) {
    let top = -Infinity, total = 0;
    for (const own of f) top = Math.max(top, own[q]);
    for (const own of f) total += Math.exp(own[q] - top);
    const share = Math.exp(f[output][q] - top) / total;
    f.forEach((own, j) => { slopes[j][q] = w[q] * share * ((j === output ? 1 : 0) - Math.exp(own[q] - top) / total); });
  }
}

/** Adds sum_qp H_qp Cov(D_S f(t_q), D_S f(t_p) | f at the nodes), H the second moments of the slopes. */
function addGivenValues(variance, { part, c, nodes, V, pairs, H }, moved) {
  const Q = nodes.length;
  for (let q = 0; q < Q; q++) {
    for (let p = 0; p <= q; p++) {
      H[p][q] = H[q][p];
      const weight = (q === p ? 1 : 2) * H[q][p];
      moved.forEach((S, s) => {
        variance[S] += weight * pairs[q][p].both[S];
        for (const u of V) variance[S] -= weight * u[s][q] * u[s][p];
      });
    }
  }
  subtractFitted(variance, part.A[c], nodes, factors(H, Q, ROUGHEST), moved);
}
