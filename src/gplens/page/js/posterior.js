// The canonical posterior of every latent function: m and v at a point (MATH 1.1, 1.2).
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
    this.Ak = this.beta.map(() => new Float64Array(n));
  }

  /** m and v of each latent function at x, and the prior variance. */
  at(x) {
    this.kernel.at(x, this.k, null);
    this.prior = this.kernel.diagonal(x, null) + this.jitter;
    const m = this.beta.map((beta, c) => meanAt(this.means[c], x) + dot(this.k, beta)); // (1.1)
    const v = this.beta.map((_, c) => {
      if (c === 0 || !this.shared) matrixTimes(this.A[c], this.k, this.Ak[c]);
      else this.Ak[c].set(this.Ak[0]);
      return this.prior - dot(this.k, this.Ak[c]); // (1.2)
    });
    return { m, v };
  }
}

/** The prior mean at x. */
export function meanAt(mean, x) {
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
  at(x) {
    const m = [], v = [], prior = [];
    for (const part of this.parts) {
      const own = part.at(x);
      m.push(...own.m);
      v.push(...own.v);
      prior.push(...own.m.map(() => part.prior));
    }
    return { m, v, prior };
  }

  /** 1 - v/k, the least of the latent functions (1.15). */
  support({ v, prior }) {
    return Math.min(...v.map((own, c) => (prior[c] > 0 ? 1 - own / prior[c] : 1)));
  }
}
