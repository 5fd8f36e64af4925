// An observation y given its latent value: tails P(y > t) averaged over f ~ N(m, v), and intervals of y (MATH 2.11, 2.12).
import { ruleWithin } from "./links.js";
import { betaLower, gammaLower, normalCdf, normalQuantile, tailTimesExp } from "./special.js";

/** E h(m + sd z) by the trapezoid rule with a step of z. */
function averaged(h, m, sd, step) {
  const { z, w } = ruleWithin(step);
  let sum = 0;
  for (let i = 0; i < z.length; i++) sum += w[i] * h(m + sd * z[i]);
  return sum;
}

/** P(y > count - 1) of counts; the step is small beside the width of the tail as a function of f. */
function countTail(m, sd, count, tail) {
  return averaged((f) => tail(count, f), m, sd, Math.min(0.3, 0.6 / (sd * Math.sqrt(count) + 1e-12)));
}

const TAILS = {
  gaussian: ({ noise }) => (m, v, t, output) => normalCdf((m - t) / Math.sqrt(v + noise[noise.length > 1 ? output : 0])),
  poisson: (_, links) => (m, v, t, output) => {
    if (t < 0) return 1;
    return countTail(m, Math.sqrt(Math.max(v, 0)), Math.floor(t) + 1, (count, f) => gammaLower(count, links[output].g(f)));
  },
  negative_binomial: ({ failures }, links) => (m, v, t, output) => { // I_p(t + 1, r), p = mean / (mean + r)
    if (t < 0) return 1;
    const tail = (count, f) => { const mean = links[output].g(f); return betaLower(count, failures, mean / (mean + failures)); };
    return countTail(m, Math.sqrt(Math.max(v, 0)), Math.floor(t) + 1, tail);
  },
  laplace: ({ scale }) => (m, v, t) => { // (2.12)
    const sd = Math.sqrt(Math.max(v, 0)), a = t - m;
    if (sd === 0) return a > 0 ? 0.5 * Math.exp(-a / scale) : 1 - 0.5 * Math.exp(a / scale);
    const half = (sd * sd) / (2 * scale * scale), p = tailTimesExp(sd / scale - a / sd, half - a / scale), n = tailTimesExp(sd / scale + a / sd, half + a / scale);
    return normalCdf(-a / sd) + (p - n) / 2;
  },
};
const COUNTS = ["poisson", "negative_binomial"];

/** {exceeds(m, v, t, output), interval(m, v, level, output)} of a likelihood, or null if the page has no tails of it. */
export function outcomeOf(spec, links) {
  if (!spec) return null;
  const exceeds = TAILS[spec.type](spec, links), whole = COUNTS.includes(spec.type);
  /** The least y with P(Y > y) <= p: a whole number, or to 1e-12 of its distance from the mean. */
  function quantile(m, v, p, output) {
    const at = (y) => exceeds(m, v, y, output) > p;
    let low = whole ? -1 : m - 1, high = whole ? 1 : m + 1;
    for (let step = 1; at(high) && step < 1e12; step *= 2) high += step;
    if (!whole) for (let step = 1; !at(low) && step < 1e12; step *= 2) low -= step;
    while (whole ? high - low > 1 : high - low > 1e-12 * (1 + Math.abs(low) + Math.abs(high))) {
      const middle = whole ? Math.floor((low + high) / 2) : (low + high) / 2;
      if (middle <= low || middle >= high) break;
      if (at(middle)) low = middle; else high = middle;
    }
    return high;
  }
  return {
    exceeds,
    interval(m, v, level, output) {
      const tail = (1 - level) / 2;
      if (spec.type !== "gaussian") return [quantile(m, v, 1 - tail, output), quantile(m, v, tail, output)];
      const sd = Math.sqrt(v + spec.noise[spec.noise.length > 1 ? output : 0]), z = normalQuantile(1 - tail);
      return [m - z * sd, m + z * sd];
    },
  };
}
