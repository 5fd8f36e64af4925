// E S_c(f) of independent logits and its derivatives, as an integral over the largest of the logits (MATH 3.1 to 3.4).
import { ruleWithin } from "./links.js";

// `step` of the trapezoid rule in s, whose error is about exp(-pi^2 / step); `right`: how far to go beyond the last logit, where
// the integrand falls like exp(-s); `least` and `wide`: the step of f in deviations and in absolute terms; `side`: deviations of f.
export const EXACT = { step: 0.36, right: 27, least: 0.7, wide: 0.42, side: 7.5 }; // 1e-12
export const QUICK = { step: 0.6, right: 15, least: 1.0, wide: 0.6, side: 6 }; // 1e-5, for a drag
const MOST_SPLITS = 20; // of a step of s into steps of f; of narrower logits every s has its own sum
const LARGEST = 6.7; // of f - s; beyond it exp(-exp(f - s)) < 1e-300

/**
 * L, L', L'' of one logit at s_0 + k STEP: E exp(-u), E u exp(-u), E (u^2 - u) exp(-u), u = exp(f - s) (3.1).
 * f is on a grid whose step divides that of s, so that f - s takes few values, and every L is a sum over a table of them.
 */
function distribution(m, sd, s0, count, { step: STEP, least, wide, side: far }) {
  const splits = Math.max(1, Math.ceil(STEP / Math.min(least * sd, wide)));
  if (!(splits <= MOST_SPLITS)) return narrow(m, sd, s0, count, STEP);
  const step = STEP / splits, side = Math.ceil((far * sd) / step), size = 2 * side + 1 + (count - 1) * splits;
  const tables = [0, 1, 2].map(() => new Float64Array(size)), [T0, T1, T2] = tables;
  for (let l = 0; l < size; l++) { // f - s from its least value up
    const a = m - s0 + (l - side - (count - 1) * splits) * step;
    if (a > LARGEST) break;
    const u = Math.exp(a), e = Math.exp(-u);
    T0[l] = e; T1[l] = u * e; T2[l] = (u - 1) * u * e;
  }
  const w = new Float64Array(2 * side + 1);
  for (let i = 0; i < w.length; i++) w[i] = (step / (sd * Math.sqrt(2 * Math.PI))) * Math.exp(-((((i - side) * step) / sd) ** 2) / 2);
  const [L, first, second] = [0, 1, 2].map(() => new Float64Array(count));
  for (let k = 0; k < count; k++) {
    let s = 0, p = 0, c = 0;
    for (let i = 0, at = (count - 1 - k) * splits; i < w.length; i++, at++) { s += w[i] * T0[at]; p += w[i] * T1[at]; c += w[i] * T2[at]; }
    L[k] = s; first[k] = p; second[k] = c;
  }
  return { L, first, second };
}

/** The same for a logit that is nearly certain, with nodes of its own for f. */
function narrow(m, sd, s0, count, STEP) {
  const rule = sd === 0 ? { z: [0], w: [1] } : ruleWithin(0.85), [L, first, second] = [0, 1, 2].map(() => new Float64Array(count));
  for (let i = 0; i < rule.z.length; i++) {
    for (let k = 0; k < count; k++) {
      const a = m + sd * rule.z[i] - s0 - k * STEP;
      if (a > LARGEST) continue;
      const u = Math.exp(a), e = rule.w[i] * Math.exp(-u);
      L[k] += e; first[k] += u * e; second[k] += (u - 1) * u * e;
    }
  }
  return { L, first, second };
}

/** {value[c], byM[c][j], byV[c][j]} for all classes. */
export function softmaxJet(m, v, accuracy = EXACT) {
  const { step: STEP, right: RIGHT } = accuracy, C = m.length, sd = v.map((x) => Math.sqrt(Math.max(x, 0)));
  const low = Math.max(...m.map((x, j) => x - 8.6 * sd[j])) - 4.5;
  const high = Math.max(...m.map((x, j) => x + 8.6 * sd[j])) + RIGHT;
  const count = Math.ceil((high - low) / STEP) + 1, parts = m.map((x, j) => distribution(x, sd[j], low, count, accuracy));
  const value = new Array(C).fill(0);
  const byM = value.map(() => new Float64Array(C)), byV = value.map(() => new Float64Array(C));
  const R = new Float64Array(C), R2 = new Float64Array(C);
  for (let i = 0; i < count; i++) {
    let P = STEP;
    for (let j = 0; j < C; j++) {
      const L = parts[j].L[i];
      P *= L;
      R[j] = L > 1e-280 ? parts[j].first[i] / L : 0;
      R2[j] = L > 1e-280 ? parts[j].second[i] / L : 0;
    }
    if (P === 0) continue;
    for (let c = 0; c < C; c++) {
      const PR = P * R[c];
      value[c] += PR; // (3.2)
      for (let j = 0; j < C; j++) {
        if (j === c) continue;
        byM[c][j] -= PR * R[j]; // (3.3)
        byV[c][j] += 0.5 * PR * R2[j]; // (3.4)
      }
    }
  }
  for (let j = 0; j < C; j++) { // for each j the derivatives sum to zero over c
    for (let c = 0; c < C; c++) if (c !== j) { byM[j][j] -= byM[c][j]; byV[j][j] -= byV[c][j]; }
  }
  return { value, byM, byV };
}
