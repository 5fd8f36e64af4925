// Kernels made of kernels: scaled, summed, multiplied; and the one that a specification describes.
import { constantKernel, dotProduct, periodic, stationary } from "./leaf_kernels.js";

const LEAVES = {
  rbf: stationary, matern32: stationary, matern52: stationary, rational_quadratic: stationary,
  radial_periodic: stationary, dot_product: dotProduct, periodic, constant: constantKernel,
};

/** The kernel of a specification, beside support points Z of shape (d, n): features in rows. */
export function kernelOf(spec, Z, n, d) {
  if (spec.type in LEAVES) return LEAVES[spec.type](spec, Z, n, d);
  if (spec.type === "scale") return scaled(kernelOf(spec.kernel, Z, n, d), spec.variance);
  if (spec.type === "sum" || spec.type === "product") {
    const join = spec.type === "sum" ? summed : multiplied;
    return spec.kernels.map((part) => kernelOf(part, Z, n, d)).reduce((a, b) => join(a, b, n, d));
  }
  throw new Error(`expected a kernel that the page knows, got ${spec.type}.`);
}

function scaled(kernel, c) {
  const times = (values) => values.map((v) => c * v);
  return {
    at(x, k, G) {
      kernel.at(x, k, G);
      for (let m = 0; m < k.length; m++) k[m] *= c;
      if (G) for (let m = 0; m < G.length; m++) G[m] *= c;
    },
    diagonal(x, g) {
      const inner = g ? new Float64Array(g.length) : null;
      const value = kernel.diagonal(x, inner);
      if (g) inner.forEach((v, j) => { g[j] += c * v; });
      return c * value;
    },
    pair(x, y, dx, dy, sets) {
      const p = kernel.pair(x, y, dx, dy, sets);
      return { k: c * p.k, left: times(p.left), right: times(p.right), both: times(p.both) };
    },
  };
}

function summed(a, b, n, d) {
  const k2 = new Float64Array(n), G2 = new Float64Array(n * d);
  const plus = (u, v) => u.map((e, i) => e + v[i]);
  return {
    at(x, k, G) {
      a.at(x, k, G);
      b.at(x, k2, G && G2);
      for (let m = 0; m < n; m++) k[m] += k2[m];
      if (G) for (let m = 0; m < G.length; m++) G[m] += G2[m];
    },
    diagonal: (x, g) => a.diagonal(x, g) + b.diagonal(x, g),
    pair(x, y, dx, dy, sets) {
      const p = a.pair(x, y, dx, dy, sets), q = b.pair(x, y, dx, dy, sets);
      return { k: p.k + q.k, left: plus(p.left, q.left), right: plus(p.right, q.right), both: plus(p.both, q.both) };
    },
  };
}

function multiplied(a, b, n, d) {
  const k2 = new Float64Array(n), G2 = new Float64Array(n * d);
  return {
    at(x, k, G) {
      a.at(x, k, G);
      b.at(x, k2, G && G2);
      if (G) {
        for (let j = 0, at = 0; j < d; j++) {
          for (let m = 0; m < n; m++, at++) G[at] = G[at] * k2[m] + G2[at] * k[m];
        }
      }
      for (let m = 0; m < n; m++) k[m] *= k2[m];
    },
    diagonal(x, g) {
      const ga = g && new Float64Array(g.length), gb = g && new Float64Array(g.length);
      const va = a.diagonal(x, ga), vb = b.diagonal(x, gb);
      if (g) for (let j = 0; j < g.length; j++) g[j] += ga[j] * vb + gb[j] * va;
      return va * vb;
    },
    pair(x, y, dx, dy, sets) {
      const p = a.pair(x, y, dx, dy, sets), q = b.pair(x, y, dx, dy, sets);
      return {
        k: p.k * q.k,
        left: p.left.map((v, S) => v * q.k + p.k * q.left[S]),
        right: p.right.map((v, S) => v * q.k + p.k * q.right[S]),
        both: p.both.map((v, S) => v * q.k + p.left[S] * q.right[S] + p.right[S] * q.left[S] + p.k * q.both[S]),
      };
    },
  };
}
