// Simple kernels beside fixed support points Z. Every kernel has
//   at(x, k, G)        k(x, Z) into k and, unless G is null, d_j k(x, z_n) into G[j n + ...]
//   diagonal(x, g)     k(x, x); adds nothing to g, its gradient, unless it varies
//   pair(x, y, dx, dy, sets)  k(x, y) with its derivatives along the directions of the columns at x and at y (MATH 5.19)
import { profileOf } from "./profiles.js";

/** Which features a kernel sees: all, or the listed ones. */
function featuresOf(spec, d) {
  return spec.dims ?? Array.from({ length: d }, (_, j) => j);
}

/** k = h(r2) (4.5). */
export function stationary(spec, Z, n, d) {
  const dims = featuresOf(spec, d);
  const { h, slope, bend } = profileOf(spec);
  const inverse = spec.lengthscale.map((l) => 1 / l);
  return {
    at(x, k, G) {
      k.fill(0);
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], xj = x[j], s = inverse[i];
        for (let m = 0, at = j * n; m < n; m++, at++) { const e = (xj - Z[at]) * s; k[m] += e * e; }
      }
      if (G) {
        G.fill(0);
        const slopes = new Float64Array(n);
        for (let m = 0; m < n; m++) slopes[m] = 2 * slope(k[m]);
        for (let i = 0; i < dims.length; i++) {
          const j = dims[i], xj = x[j], s2 = inverse[i] * inverse[i];
          for (let m = 0, at = j * n; m < n; m++, at++) G[at] += slopes[m] * (xj - Z[at]) * s2;
        }
      }
      for (let m = 0; m < n; m++) k[m] = h(k[m]);
    },
    diagonal: () => 1,
    pair(x, y, dx, dy, sets) {
      let r2 = 0;
      const [atX, atY, norm] = [0, 1, 2].map(() => new Float64Array(sets.count));
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], s2 = inverse[i] * inverse[i], e = x[j] - y[j], S = sets.of[j];
        r2 += e * e * s2;
        atX[S] += dx[j] * e * s2;
        atY[S] += dy[j] * e * s2;
        norm[S] += dx[j] * dy[j] * s2;
      }
      const rise = 2 * slope(r2), curve = r2 > 0 ? bend(r2) / r2 : 0;
      return {
        k: h(r2),
        left: atX.map((a) => rise * a),
        right: atY.map((a) => -rise * a),
        both: atX.map((a, S) => -rise * norm[S] - curve * a * atY[S]), // (5.12a)
      };
    },
  };
}

/** k = (sum_k a_k x_k z_k + offset)^power (4.5f). */
export function dotProduct(spec, Z, n, d) {
  const dims = featuresOf(spec, d);
  const { variance: a, offset, power } = spec;
  const h = (s) => (power === 1 ? s + offset : (s + offset) ** power);
  const slope = (s) => (power === 1 ? 1 : power * (s + offset) ** (power - 1));
  const bend = (s) => (power === 1 ? 0 : power * (power - 1) * (s + offset) ** (power - 2));
  return {
    at(x, k, G) {
      k.fill(0);
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], ax = a[i] * x[j];
        for (let m = 0, at = j * n; m < n; m++, at++) k[m] += ax * Z[at];
      }
      if (G) {
        G.fill(0);
        for (let i = 0; i < dims.length; i++) {
          const j = dims[i];
          for (let m = 0, at = j * n; m < n; m++, at++) G[at] += slope(k[m]) * a[i] * Z[at];
        }
      }
      for (let m = 0; m < n; m++) k[m] = h(k[m]);
    },
    diagonal(x, g) {
      let s = 0;
      for (let i = 0; i < dims.length; i++) s += a[i] * x[dims[i]] ** 2;
      if (g) for (let i = 0; i < dims.length; i++) g[dims[i]] += 2 * slope(s) * a[i] * x[dims[i]];
      return h(s);
    },
    pair(x, y, dx, dy, sets) {
      let s = 0;
      const [left, right, norm] = [0, 1, 2].map(() => new Float64Array(sets.count));
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], S = sets.of[j];
        s += a[i] * x[j] * y[j];
        left[S] += dx[j] * a[i] * y[j];
        right[S] += dy[j] * a[i] * x[j];
        norm[S] += dx[j] * dy[j] * a[i];
      }
      const both = norm.map((v, S) => slope(s) * v + bend(s) * left[S] * right[S]); // (5.12b)
      return { k: h(s), left: left.map((v) => slope(s) * v), right: right.map((v) => slope(s) * v), both };
    },
  };
}

/** k = exp(sum_k (cos(2 pi (x_k - z_k) / p_k) - 1) / l_k) (4.5g). */
export function periodic(spec, Z, n, d) {
  const dims = featuresOf(spec, d);
  const rate = spec.period.map((p) => (2 * Math.PI) / p);
  const inverse = spec.lengthscale.map((l) => 1 / l);
  return {
    at(x, k, G) {
      k.fill(0);
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i];
        for (let m = 0, at = j * n; m < n; m++, at++) {
          k[m] -= 2 * Math.sin((rate[i] * (x[j] - Z[at])) / 2) ** 2 * inverse[i];
        }
      }
      for (let m = 0; m < n; m++) k[m] = Math.exp(k[m]);
      if (!G) return;
      G.fill(0);
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], c = rate[i] * inverse[i];
        for (let m = 0, at = j * n; m < n; m++, at++) G[at] -= c * Math.sin(rate[i] * (x[j] - Z[at])) * k[m];
      }
    },
    diagonal: () => 1,
    pair(x, y, dx, dy, sets) {
      let exponent = 0;
      const [atX, atY, curve] = [0, 1, 2].map(() => new Float64Array(sets.count));
      for (let i = 0; i < dims.length; i++) {
        const j = dims[i], angle = rate[i] * (x[j] - y[j]), S = sets.of[j];
        exponent += (Math.cos(angle) - 1) * inverse[i];
        const bent = rate[i] * inverse[i] * Math.sin(angle);
        atX[S] += dx[j] * bent;
        atY[S] += dy[j] * bent;
        curve[S] += dx[j] * dy[j] * rate[i] * rate[i] * inverse[i] * Math.cos(angle);
      }
      const k = Math.exp(exponent);
      const both = atX.map((v, S) => k * (curve[S] - v * atY[S])); // (5.12c)
      return { k, left: atX.map((v) => -k * v), right: atY.map((v) => k * v), both };
    },
  };
}

/** k = variance. */
export function constantKernel(spec) {
  const zeros = (sets) => new Float64Array(sets.count);
  return {
    at(x, k, G) { k.fill(spec.variance); if (G) G.fill(0); },
    diagonal: () => spec.variance,
    pair: (x, y, dx, dy, sets) => ({ k: spec.variance, left: zeros(sets), right: zeros(sets), both: zeros(sets) }),
  };
}
