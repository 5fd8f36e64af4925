// E S_c(f) of independent logits and its derivatives, as an integral over the largest of the logits (MATH 3.1 to 3.4).
import { ruleWithin } from "./links.js";

const STEP = 0.36; // the error of the trapezoid rule in s is about exp(-pi^2 / STEP), 1e-12
const RIGHT = 27; // beyond the last logit the integrand falls like exp(-s)

/** L, L', L'' of one logit at all s: E exp(-u), E u exp(-u), E (u^2 - u) exp(-u), u = exp(f - s) (3.1). */
function distribution(m, v, s) {
  const sd = Math.sqrt(Math.max(v, 0));
  const rule = sd === 0 ? { z: [0], w: [1] } : ruleWithin(Math.min(0.42, 0.42 / sd));
  const L = new Float64Array(s.length), first = new Float64Array(s.length), second = new Float64Array(s.length);
  for (let i = 0; i < rule.z.length; i++) {
    const f = m + sd * rule.z[i], w = rule.w[i];
    for (let j = 0; j < s.length; j++) {
      const a = f - s[j];
      if (a > 6.7) continue; // exp(-u) < 1e-300
      const u = Math.exp(a), e = w * Math.exp(-u);
      L[j] += e;
      first[j] += u * e;
      second[j] += (u - 1) * u * e;
    }
  }
  return { L, first, second };
}

/** {value[c], byM[c][j], byV[c][j]} for all classes. */
export function softmaxJet(m, v) {
  const C = m.length, sd = v.map((x) => Math.sqrt(Math.max(x, 0)));
  const low = Math.max(...m.map((x, j) => x - 8.6 * sd[j])) - 4.5;
  const high = Math.max(...m.map((x, j) => x + 8.6 * sd[j])) + RIGHT;
  const s = Float64Array.from({ length: Math.ceil((high - low) / STEP) + 1 }, (_, i) => low + i * STEP);
  const parts = m.map((x, j) => distribution(x, v[j], s));
  const value = new Array(C).fill(0);
  const byM = value.map(() => new Array(C).fill(0)), byV = value.map(() => new Array(C).fill(0));
  const R = new Float64Array(C), R2 = new Float64Array(C);
  for (let i = 0; i < s.length; i++) {
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
