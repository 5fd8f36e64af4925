// Quadrature: Gauss-Legendre nodes of any number, and Kronrod's 21 nodes, which contain ten of Gauss.

/** Nodes and weights of the Gauss-Legendre rule on [0, 1], by Newton's method. */
export function gaussLegendre(count) {
  const t = new Float64Array(count), w = new Float64Array(count);
  for (let i = 0; i < (count + 1) >> 1; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5)), slope = 0;
    for (let step = 0; step < 100; step++) {
      let p = 1, before = 0;
      for (let j = 1; j <= count; j++) [p, before] = [((2 * j - 1) * x * p - (j - 1) * before) / j, p];
      slope = (count * (x * p - before)) / (x * x - 1);
      const change = p / slope;
      x -= change;
      if (Math.abs(change) < 1e-16) break;
    }
    t[i] = (1 - x) / 2;
    t[count - 1 - i] = (1 + x) / 2;
    w[i] = w[count - 1 - i] = 1 / ((1 - x * x) * slope * slope);
  }
  return { t, w };
}

const KRONROD_NODES = [
  0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
  0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
  0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
  0.14887433898163121088482600112972, 0,
];
const KRONROD_WEIGHTS = [
  0.011694638867371874278064396062192, 0.03255816230796472747881897245939, 0.05475589657435199603138130024458,
  0.07503967481091995276704314091619, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
  0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
  0.147739104901338491374841515972068, 0.149445554002916905664936468389821,
];
const GAUSS_WEIGHTS = [
  0.066671344308688137593568809893332, 0.149451349150580593145863396957658, 0.219086362515982043995534934228163,
  0.269266719309996355091226921569469, 0.295524224714752870173815619188769,
];

/** Kronrod's 21 nodes on [0, 1] with their weights, and those of the Gauss rule of ten of them (zero elsewhere). */
export const KRONROD = (() => {
  const nodes = [];
  KRONROD_NODES.forEach((x, i) => {
    const gauss = i % 2 === 1 ? GAUSS_WEIGHTS[(i - 1) / 2] / 2 : 0;
    const entry = (t) => ({ t, w: KRONROD_WEIGHTS[i] / 2, gauss });
    nodes.push(entry((1 - x) / 2));
    if (x > 0) nodes.push(entry((1 + x) / 2));
  });
  return nodes.sort((a, b) => a.t - b.t);
})();

/** Nodes z with weights of the standard normal density: the trapezoid rule, exact to rounding for smooth functions. */
export function normalNodes(step) {
  const count = Math.ceil(8.6 / step), z = new Float64Array(2 * count + 1), w = new Float64Array(2 * count + 1);
  for (let i = -count; i <= count; i++) {
    z[i + count] = i * step;
    w[i + count] = (step * Math.exp(-((i * step) ** 2) / 2)) / Math.sqrt(2 * Math.PI);
  }
  return { z, w };
}

/** (1 - cos(pi i / (count - 1))) / 2: points on [0, 1] with both ends, at which smooth functions are interpolated well. */
export function chebyshevPoints(count) {
  return Array.from({ length: count }, (_, i) => (1 - Math.cos((Math.PI * i) / (count - 1))) / 2);
}

/** The matrix from values at these points to those of their polynomial at t, a row for each t (barycentric formula). */
export function interpolation(count, t) {
  const points = chebyshevPoints(count), weight = (i) => (i % 2 ? -1 : 1) * (i === 0 || i === count - 1 ? 0.5 : 1);
  return t.map((s) => {
    const place = points.indexOf(s);
    if (place >= 0) return points.map((_, i) => (i === place ? 1 : 0));
    const terms = points.map((point, i) => weight(i) / (s - point)), sum = terms.reduce((a, b) => a + b, 0);
    return terms.map((term) => term / sum);
  });
}
