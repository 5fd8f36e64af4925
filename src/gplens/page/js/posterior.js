// The canonical posterior of every latent function: m, v and their gradients (MATH 1.1 to 1.5).
import { decodeFloats, dot, matrixTimes, symmetricMatrix } from "./arrays.js";
import { kernelOf } from "./kernels.js";

/** Latent functions that share a kernel and support points. */
class Part {
  constructor(spec) {
    const { n, d } = spec;
    Object.assign(this, { n, d, jitter: spec.jitter, means: spec.means });
    this.kernel = kernelOf(spec.kernel, decodeFloats(spec.Z), n, d);
    const beta = decodeFloats(spec.beta);
    this.latents = beta.length / n;
    this.beta = Array.from({ length: this.latents }, (_, c) => beta.subarray(c * n, (c + 1) * n));
    const matrices = spec.A.map((triangle) => symmetricMatrix(decodeFloats(triangle), n));
    this.A = this.beta.map((_, c) => matrices[matrices.length > 1 ? c : 0]);
    this.shared = matrices.length === 1;
    this.k = new Float64Array(n);
    this.G = new Float64Array(n * d);
    this.Ak = this.beta.map(() => new Float64Array(n));
  }

  /** m and v of each latent function at x; with `gradient` also d_j k(x, Z) in G, and without `variance` no v. */
  at(x, { gradient = false, variance = true } = {}) {
    this.kernel.at(x, this.k, gradient ? this.G : null);
    this.prior = variance ? this.kernel.diagonal(x, null) + this.jitter : NaN;
    const m = this.beta.map((beta, c) => meanAt(this.means[c], x) + dot(this.k, beta)); // (1.1)
    const v = this.beta.map((_, c) => {
      if (!variance) return NaN;
      if (c === 0 || !this.shared) matrixTimes(this.A[c], this.k, this.Ak[c]);
      else this.Ak[c].set(this.Ak[0]);
      return this.prior - dot(this.k, this.Ak[c]); // (1.2)
    });
    return { m, v };
  }

  /** sum_c (by_m_c dm_c + by_v_c dv_c) in every feature, at the x of the last call of `at` (1.4), (1.5), (4.2). */
  pullBack(x, byM, byV, out) {
    const W = new Float64Array(this.n);
    let ofDiagonal = 0;
    for (let c = 0; c < this.latents; c++) {
      const { weight } = this.means[c];
      if (weight) for (let j = 0; j < this.d; j++) out[j] += byM[c] * weight[j];
      const a = byM[c], b = byV ? -2 * byV[c] : 0;
      if (byV) ofDiagonal += byV[c];
      for (let i = 0; i < this.n; i++) W[i] += a * this.beta[c][i] + (b ? b * this.Ak[c][i] : 0);
    }
    for (let j = 0; j < this.d; j++) out[j] += dot(W, this.G, j * this.n);
    if (ofDiagonal) {
      const g = new Float64Array(this.d);
      this.kernel.diagonal(x, g);
      for (let j = 0; j < this.d; j++) out[j] += ofDiagonal * g[j];
    }
  }
}

function meanAt(mean, x) {
  return mean.constant + (mean.weight ? dot(mean.weight, x) : 0);
}

/** All latent functions of a model. */
export class Posterior {
  constructor(parts) {
    this.parts = parts.map((spec) => new Part(spec));
    this.d = this.parts[0].d;
    this.latents = this.parts.reduce((sum, part) => sum + part.latents, 0);
  }

  /** m, v, and the prior variance of each latent function. */
  at(x, options) {
    const m = [], v = [], prior = [];
    for (const part of this.parts) {
      const own = part.at(x, options);
      m.push(...own.m);
      v.push(...own.v);
      prior.push(...own.m.map(() => part.prior));
    }
    return { m, v, prior };
  }

  pullBack(x, byM, byV) {
    const out = new Float64Array(this.d);
    let first = 0;
    for (const part of this.parts) {
      const end = first + part.latents;
      part.pullBack(x, byM.slice(first, end), byV && byV.slice(first, end), out);
      first = end;
    }
    return out;
  }

  /** 1 - v/k, the least of the latent functions (1.15). */
  support({ v, prior }) {
    return Math.min(...v.map((own, c) => (prior[c] > 0 ? 1 - own / prior[c] : 1)));
  }
}
