// The latent functions at several points of a path at once, and what their gradients add up to (MATH 1.1 to 1.5).
import { dot, matrixTimesMany } from "./arrays.js";
import { meanAt } from "./posterior.js";

/** Of every point {x, m[c], k, G} for the latent functions of one part; v and A k come with `addVariances`. */
export function latentNodes(part, points) {
  const { n, d } = part, K = new Float64Array(points.length * n), G = new Float64Array(points.length * n * d);
  return points.map((x, q) => {
    const k = K.subarray(q * n, (q + 1) * n), own = G.subarray(q * n * d, (q + 1) * n * d);
    part.kernel.at(x, k, own);
    const m = part.beta.map((beta, c) => meanAt(part.means[c], x) + dot(k, beta)); // (1.1)
    return { x, m, v: null, prior: part.kernel.diagonal(x, null) + part.jitter, k, G: own, Ak: null };
  });
}

/** v[c] and Ak[c] of the nodes that have none yet. The product with A, which is nearly all of the cost, is one for all of them. */
export function addVariances(part, nodes) {
  const missing = nodes.filter((node) => node.v === null), { n } = part, K = new Float64Array(missing.length * n);
  missing.forEach((node, q) => { K.set(node.k, q * n); node.v = []; node.Ak = []; });
  for (let c = 0; c < part.latents && missing.length; c++) {
    const fresh = c === 0 || !part.shared;
    const AK = fresh ? matrixTimesMany(part.A[c], K, n, missing.length, new Float64Array(K.length)) : null;
    missing.forEach((node, q) => {
      node.Ak.push(fresh ? AK.subarray(q * n, (q + 1) * n) : node.Ak[0]);
      node.v.push(fresh ? node.prior - dot(node.k, node.Ak[c]) : node.v[0]); // (1.2)
    });
  }
  return nodes;
}

/** m, v and the prior variance of every latent function, from the nodes of one point, a node for each part. */
export function marginalsOf(parts, nodes) {
  nodes.forEach((node, p) => addVariances(parts[p], [node]));
  return { m: nodes.flatMap(({ m }) => m), v: nodes.flatMap(({ v }) => v), prior: nodes.flatMap(({ m, prior }) => m.map(() => prior)) };
}

/** Adds sum_c (by_m_c dm_c + by_v_c dv_c) at one node to `out`, for every feature (1.4), (1.5), (4.2). */
export function pullBack(part, node, byM, byV, out) {
  const { n, d } = part, W = new Float64Array(n);
  let ofDiagonal = 0;
  for (let c = 0; c < part.latents; c++) {
    const { weight } = part.means[c], a = byM[c], b = byV ? -2 * byV[c] : 0;
    if (weight) for (let j = 0; j < d; j++) out[j] += a * weight[j];
    if (byV) ofDiagonal += byV[c];
    const beta = part.beta[c], Ak = b ? node.Ak[c] : null;
    if (b) for (let i = 0; i < n; i++) W[i] += a * beta[i] + b * Ak[i];
    else for (let i = 0; i < n; i++) W[i] += a * beta[i];
  }
  for (let j = 0; j < d; j++) out[j] += dot(W, node.G, j * n);
  if (!ofDiagonal) return;
  const g = new Float64Array(d);
  part.kernel.diagonal(node.x, g);
  for (let j = 0; j < d; j++) out[j] += ofDiagonal * g[j];
}
