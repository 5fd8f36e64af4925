// The latent functions at several points of a path at once, and what their gradients add up to (MATH 1.1 to 1.5).
import { dot, matrixTimesMany } from "./arrays.js";
import { meanAt } from "./posterior.js";

/**
 * Of every point {x, m[c], v[c], k, G, Ak[c]} for the latent functions of one part; without `variance` neither v nor Ak.
 * The product with A, which is nearly all of the cost, is one for all points.
 */
export function latentNodes(part, points, variance = true) {
  const { n, d } = part, count = points.length, K = new Float64Array(count * n), G = new Float64Array(count * n * d);
  const nodes = points.map((x, q) => {
    const k = K.subarray(q * n, (q + 1) * n), own = G.subarray(q * n * d, (q + 1) * n * d);
    part.kernel.at(x, k, own);
    const m = part.beta.map((beta, c) => meanAt(part.means[c], x) + dot(k, beta)); // (1.1)
    return { x, m, v: [], k, G: own, Ak: [] };
  });
  if (!variance) return nodes;
  part.beta.forEach((_, c) => {
    const fresh = c === 0 || !part.shared;
    const AK = fresh ? matrixTimesMany(part.A[c], K, n, count, new Float64Array(count * n)) : null;
    nodes.forEach((node, q) => {
      node.Ak.push(fresh ? AK.subarray(q * n, (q + 1) * n) : node.Ak[0]);
      node.v.push(fresh ? part.kernel.diagonal(node.x, null) + part.jitter - dot(node.k, node.Ak[c]) : node.v[0]); // (1.2)
    });
  });
  return nodes;
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
