// E_ij = E g^(i)(f) g^(j)(f') of two correlated latent values (MATH 5.4 to 5.11).
import { ruleWithin, SMOOTH } from "./links.js";

const TERMS = 120;

/** From a link and all marginals to a function (q, p, c) -> {E11, E12, E21, E13, E31, E22}; null if it is not known. */
export function pairMoments(link, m, v) {
  const square = link.scale * link.scale;
  const times = (E11, E12, E21, E13, E31, E22) => ({
    E11: square * E11, E12: square * E12, E21: square * E21,
    E13: square * E13, E31: square * E31, E22: square * E22,
  });
  switch (link.spec.type) {
    case "identity":
      return () => times(1, 0, 0, 0, 0, 0); // (5.5)
    case "exp":
      return (q, p, c) => { // (5.7)
        const E = Math.exp(m[q] + m[p] + (v[q] + v[p]) / 2 + c);
        return times(E, E, E, E, E, E);
      };
    case "probit": {
      const { shift, noise } = link.spec;
      return (q, p, c) => { // (5.8)
        const a = m[q] - shift, b = m[p] - shift, S = noise + v[q], T = noise + v[p], det = S * T - c * c;
        const u1 = (T * a - c * b) / det, u2 = (S * b - c * a) / det;
        const E = Math.exp(-(a * u1 + b * u2) / 2) / (2 * Math.PI * Math.sqrt(det));
        return times(E, -u2 * E, -u1 * E, (u2 * u2 - S / det) * E, (u1 * u1 - T / det) * E, (u1 * u2 + c / det) * E);
      };
    }
    default:
      return series(SMOOTH[link.spec.type], m, v, times);
  }
}

/** The series in the correlation (5.9), with coefficients (5.10); null if its last terms still matter. */
function series(derivatives, m, v, times) {
  const coefficients = m.map((mean, q) => hermite(derivatives, mean, Math.sqrt(Math.max(v[q], 0))));
  if (coefficients.some((own) => own === null)) return null;
  return (q, p, c) => {
    const root = Math.sqrt(v[q] * v[p]), r = root > 0 ? Math.max(-1, Math.min(1, c / root)) : 0;
    const [a, b] = [coefficients[q], coefficients[p]];
    let E11 = 0, E12 = 0, E21 = 0, E13 = 0, E31 = 0, E22 = 0, power = 1;
    const count = Math.min(a.count, b.count);
    for (let k = 0; k < count; k++, power *= r) {
      const a1 = power * a[0][k], a2 = power * a[1][k], a3 = power * a[2][k];
      E11 += a1 * b[0][k]; E12 += a1 * b[1][k]; E21 += a2 * b[0][k];
      E13 += a1 * b[2][k]; E31 += a3 * b[0][k]; E22 += a2 * b[1][k];
    }
    return times(E11, E12, E21, E13, E31, E22);
  };
}

/** a_k^(i) = E g^(i)(m + sd z) He_k(z) / sqrt(k!), i = 1, 2, 3, until what is left of E (g^(i))^2 is below 1e-8 (5.11). */
function hermite(derivatives, m, sd) {
  const { z, w } = ruleWithin(Math.min(0.2, 0.4 / Math.max(sd, 1e-12)));
  const g = [1, 2, 3].map(() => new Float64Array(z.length)), total = [0, 0, 0];
  for (let i = 0; i < z.length; i++) {
    const at = derivatives(m + sd * z[i]);
    for (let e = 0; e < 3; e++) { g[e][i] = at[e + 1]; total[e] += w[i] * at[e + 1] ** 2; }
  }
  const a = [[], [], []], left = [...total];
  let before = new Float64Array(z.length), H = new Float64Array(z.length).fill(1);
  for (let k = 0; k < TERMS; k++) {
    for (let e = 0; e < 3; e++) {
      let sum = 0;
      for (let i = 0; i < z.length; i++) sum += w[i] * g[e][i] * H[i];
      a[e].push(sum);
      left[e] -= sum * sum;
    }
    if (left.every((rest, e) => rest <= 1e-8 * total[e])) return Object.assign(a, { count: k + 1 });
    const next = new Float64Array(z.length), [s, t] = [1 / Math.sqrt(k + 1), Math.sqrt(k)];
    for (let i = 0; i < z.length; i++) next[i] = (z[i] * H[i] - t * before[i]) * s;
    [before, H] = [H, next];
  }
  return null;
}
