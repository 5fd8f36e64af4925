// What the model predicts, as a function psi(m, v) of the marginals with its derivatives (MATH 2.1).
import { linkOf } from "./links.js";
import { EXACT, QUICK, softmaxJet } from "./softmax.js";

/** The expected response of a specification: {count, linear, jet(m, v, outputs, quick), links}. */
export function responseOf(spec, latents) {
  if (spec.type === "softmax") return softmaxResponse(latents);
  const links = Array.from({ length: latents }, (_, c) => linkOf(spec.links[spec.links.length > 1 ? c : 0]));
  return {
    count: latents,
    links,
    linear: links.every((link) => link.linear),
    values: (m, v) => m.map((x, c) => links[c].moments(x, v[c])[0]),
    /** Of each output asked for: {value, byM[c], byV[c]}. */
    jet(m, v, outputs) {
      return outputs.map((o) => {
        const [value, slope, curvature] = links[o].moments(m[o], v[o]);
        const byM = m.map((_, c) => (c === o ? slope : 0));
        return { value, byM, byV: links[o].linear ? null : m.map((_, c) => (c === o ? curvature / 2 : 0)) };
      });
    },
  };
}

function softmaxResponse(latents) {
  return {
    count: latents,
    links: null,
    linear: false,
    values: (m, v) => softmaxJet(m, v).value,
    jet(m, v, outputs, quick) {
      const { value, byM, byV } = softmaxJet(m, v, quick ? QUICK : EXACT);
      return outputs.map((o) => ({ value: value[o], byM: byM[o], byV: byV[o] }));
    },
    /** Probabilities and their deviations: E S_c^2 = E S_c - d E S_c / dm_c, because dS_c/df_c = S_c - S_c^2. */
    spreads(m, v) {
      const { value, byM } = softmaxJet(m, v);
      return { values: value, sd: value.map((p, c) => Math.sqrt(Math.max(p - byM[c][c] - p * p, 0))) };
    },
  };
}
