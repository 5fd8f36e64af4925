// The normal distribution, and the incomplete gamma and beta functions.

const ROOT_2PI = Math.sqrt(2 * Math.PI);

export function normalDensity(u) {
  return Math.exp(-(u * u) / 2) / ROOT_2PI;
}

/** P(z > u) for u >= 0: a series near zero, else the continued fraction of Mills' ratio. */
function upperTail(u) {
  if (u < 2.5) {
    let term = u, sum = u;
    for (let i = 3; Math.abs(term) > 1e-17 * sum && i < 400; i += 2) { term *= (u * u) / i; sum += term; }
    return 0.5 - sum * normalDensity(u);
  }
  let fraction = 0;
  for (let i = 120; i >= 1; i--) fraction = i / (u + fraction);
  return normalDensity(u) / (u + fraction);
}

/** Phi(u). */
export function normalCdf(u) {
  return u < 0 ? upperTail(-u) : 1 - upperTail(u);
}

/** exp(x) P(z > u), without an overflow of the first or an underflow of the second for u > 0. */
export function tailTimesExp(u, x) {
  if (u < 2.5) return Math.exp(x) * (1 - normalCdf(u));
  let fraction = 0;
  for (let i = 120; i >= 1; i--) fraction = i / (u + fraction);
  return Math.exp(x - (u * u) / 2) / (ROOT_2PI * (u + fraction));
}

/** The u with Phi(u) = p, by Newton's method. */
export function normalQuantile(p) {
  if (p > 0.5) return -normalQuantile(1 - p);
  let u = p < 0.02 ? -Math.sqrt(-2 * Math.log(p)) : 0;
  for (let i = 0; i < 60; i++) {
    const step = (normalCdf(u) - p) / normalDensity(u);
    u -= Math.max(-1, Math.min(1, step));
    if (Math.abs(step) < 1e-15 * (1 + Math.abs(u))) break;
  }
  return u;
}

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** log Gamma(a), a > 0. */
export function logGamma(a) {
  if (a < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * a)) - logGamma(1 - a);
  const x = a - 1;
  let sum = LANCZOS[0];
  for (let i = 1; i < LANCZOS.length; i++) sum += LANCZOS[i] / (x + i);
  const t = x + 7.5;
  return 0.5 * Math.log(2 * Math.PI) + (x + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** P(a, x): the regularised lower incomplete gamma function. For counts it is P(y >= a) of a Poisson of rate x. */
export function gammaLower(a, x) {
  if (x <= 0) return 0;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a, sum = term;
    for (let i = 1; i < 100000 && Math.abs(term) > 1e-17 * sum; i++) { term *= x / (a + i); sum += term; }
    return sum * front;
  }
  let b = x + 1 - a, c = 1e300, d = 1 / b, h = d; // Lentz's continued fraction
  for (let i = 1; i < 100000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (an * d + b || 1e-300);
    c = b + an / c || 1e-300;
    const factor = d * c;
    h *= factor;
    if (Math.abs(factor - 1) < 1e-16) break;
  }
  return 1 - front * h;
}

/** I_x(a, b): the regularised incomplete beta function, by Lentz's continued fraction on the side where it converges. */
export function betaLower(a, b, x) {
  if (!(x > 0)) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaLower(b, a, 1 - x);
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x)) / a;
  let c = 1, d = 1 / (1 - ((a + b) * x) / (a + 1) || 1e-300), h = d;
  for (let i = 1; i < 10000; i++) {
    const even = (i * (b - i) * x) / ((a + 2 * i - 1) * (a + 2 * i)), odd = (-(a + i) * (a + b + i) * x) / ((a + 2 * i) * (a + 2 * i + 1));
    let factor = 1;
    for (const term of [even, odd]) {
      d = 1 / (1 + term * d || 1e-300);
      c = 1 + term / c || 1e-300;
      factor = c * d;
      h *= factor;
    }
    if (Math.abs(factor - 1) < 1e-16) break;
  }
  return front * h;
}
