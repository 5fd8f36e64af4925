// Kernels h(r2) of the scaled squared distance: h, dh/dr2, and 4 r2 d2h/dr2^2, which is finite at r2 = 0 (MATH 4.5).

const ROOT3 = Math.sqrt(3);
const ROOT5 = Math.sqrt(5);

/** sin(pi x) / (pi x). */
function sinc(x) {
  const a = Math.PI * x;
  return Math.abs(a) < 1e-4 ? 1 - (a * a) / 6 : Math.sin(a) / a;
}

/** The profile of a kernel by its name: {h, slope, bend}. */
export function profileOf(spec) {
  switch (spec.type) {
    case "rbf": // (4.5a)
      return {
        h: (r2) => Math.exp(-r2 / 2),
        slope: (r2) => -Math.exp(-r2 / 2) / 2,
        bend: (r2) => r2 * Math.exp(-r2 / 2),
      };
    case "matern32": // (4.5b)
      return {
        h: (r2) => { const s = ROOT3 * Math.sqrt(r2); return (1 + s) * Math.exp(-s); },
        slope: (r2) => -1.5 * Math.exp(-ROOT3 * Math.sqrt(r2)),
        bend: (r2) => { const s = ROOT3 * Math.sqrt(r2); return 3 * s * Math.exp(-s); },
      };
    case "matern52": // (4.5c)
      return {
        h: (r2) => { const s = ROOT5 * Math.sqrt(r2); return (1 + s + (s * s) / 3) * Math.exp(-s); },
        slope: (r2) => { const s = ROOT5 * Math.sqrt(r2); return (-5 / 6) * (1 + s) * Math.exp(-s); },
        bend: (r2) => { const s = ROOT5 * Math.sqrt(r2); return (5 / 3) * s * s * Math.exp(-s); },
      };
    case "rational_quadratic": { // (4.5d)
      const a = spec.alpha;
      const raised = (r2, more) => Math.exp(-(a + more) * Math.log1p(r2 / (2 * a)));
      return {
        h: (r2) => raised(r2, 0),
        slope: (r2) => -raised(r2, 1) / 2,
        bend: (r2) => (1 + 1 / a) * r2 * raised(r2, 2),
      };
    }
    case "radial_periodic": { // (4.5h)
      const w2 = spec.width * spec.width;
      const rate = (2 * Math.PI * Math.PI) / w2;
      const h = (r2) => Math.exp((-2 * Math.sin(Math.PI * Math.sqrt(r2)) ** 2) / w2);
      return {
        h,
        slope: (r2) => -rate * sinc(2 * Math.sqrt(r2)) * h(r2),
        bend: (r2) => {
          const r = Math.sqrt(r2), s = sinc(2 * r);
          return h(r2) * (2 * rate * (s - Math.cos(2 * Math.PI * r)) + 4 * r2 * (rate * s) ** 2);
        },
      };
    }
    default:
      throw new Error(`expected a kernel of the distance, got ${spec.type}.`);
  }
}
