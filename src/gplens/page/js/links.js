// Gaussian moments E g, E g', E g'' of the links of one latent function, for f ~ N(m, v) (MATH 2).
import { normalNodes } from "./gauss.js";
import { normalCdf } from "./special.js";

const RULES = new Map();

/** A rule with a step of at most `most`; steps are powers of 2^(1/4), so that few rules are ever made. */
export function ruleWithin(most) {
  const exponent = Math.max(-48, Math.floor(4 * Math.log2(most)));
  if (!RULES.has(exponent)) RULES.set(exponent, normalNodes(2 ** (exponent / 4)));
  return RULES.get(exponent);
}

function sigmoidAt(f) {
  if (f < 0) { const e = Math.exp(f); return e / (1 + e); }
  return 1 / (1 + Math.exp(-f));
}

function softplusAt(f) {
  return Math.max(f, 0) + Math.log1p(Math.exp(-Math.abs(f)));
}

/** g and its first four derivatives at f, for links whose moments are integrals. */
export const SMOOTH = {
  sigmoid(f) {
    const s = sigmoidAt(f), a = s * sigmoidAt(-f), u = 1 - 2 * s;
    return [s, a, a * u, a * (1 - 6 * a), a * u * (1 - 12 * a)];
  },
  softplus(f) {
    const s = sigmoidAt(f), a = s * sigmoidAt(-f), u = 1 - 2 * s;
    return [softplusAt(f), s, a, a * u, a * (1 - 6 * a)];
  },
};

/** E g^(0..2) by the trapezoid rule: the poles of the sigmoid are at distance pi/sd. */
function integrated(derivatives, m, v) {
  const sd = Math.sqrt(Math.max(v, 0));
  if (sd === 0) return derivatives(m).slice(0, 3);
  const { z, w } = ruleWithin(Math.min(0.42, 0.8 / sd));
  let value = 0, slope = 0, curvature = 0;
  for (let i = 0; i < z.length; i++) {
    const [g0, g1, g2] = derivatives(m + sd * z[i]);
    value += w[i] * g0;
    slope += w[i] * g1;
    curvature += w[i] * g2;
  }
  return [value, slope, curvature];
}

/** [E g, E g', E g''] of a link, and g itself. */
export const LINKS = {
  identity: { g: (f) => f, moments: (m) => [m, 1, 0], linear: true }, // (2.2)
  exp: { // (2.4)
    g: Math.exp,
    moments(m, v) { const value = Math.exp(m + v / 2); return [value, value, value]; },
  },
  probit: { // (2.5)
    g: (f, { shift, noise }) => normalCdf((f - shift) / Math.sqrt(noise)),
    moments(m, v, { shift, noise }) {
      const a = m - shift, s2 = noise + v, u = a / Math.sqrt(s2);
      const slope = Math.exp(-(u * u) / 2) / Math.sqrt(2 * Math.PI * s2);
      return [normalCdf(u), slope, (-a / s2) * slope];
    },
  },
  sigmoid: { g: sigmoidAt, moments: (m, v) => integrated(SMOOTH.sigmoid, m, v) }, // (2.6)
  softplus: { g: softplusAt, moments: (m, v) => integrated(SMOOTH.softplus, m, v) }, // (2.7)
};

/** A link with its scale and offset: {g, moments, linear}. */
export function linkOf(spec) {
  const { g, moments, linear = false } = LINKS[spec.type];
  const { scale = 1, offset = 0 } = spec;
  return {
    spec,
    linear,
    scale,
    g: (f) => scale * g(f, spec) + offset,
    moments(m, v) {
      const [value, slope, curvature] = moments(m, v, spec);
      return [scale * value + offset, scale * slope, scale * curvature];
    },
  };
}
