// Arrays as the page carries them: float64 numbers in base64, little-endian.

/** The numbers of a base64 text. */
export function decodeFloats(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return new Float64Array(bytes.buffer);
}

/** A symmetric n x n matrix from its lower triangle, row by row. */
export function symmetricMatrix(triangle, n) {
  const A = new Float64Array(n * n);
  for (let i = 0, at = 0; i < n; i++) {
    for (let j = 0; j <= i; j++, at++) A[i * n + j] = A[j * n + i] = triangle[at];
  }
  return A;
}

/** sum_i a_i b_i, with b from an offset on. */
export function dot(a, b, offset = 0) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[offset + i];
  return sum;
}

/** A k for a matrix of n columns; four rows at once, which reads k a quarter as often. */
export function matrixTimes(A, k, out) {
  const n = k.length;
  const rows = out.length;
  let i = 0;
  for (; i + 3 < rows; i += 4) {
    let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    const a0 = i * n, a1 = a0 + n, a2 = a1 + n, a3 = a2 + n;
    for (let j = 0; j < n; j++) {
      const kj = k[j];
      s0 += A[a0 + j] * kj;
      s1 += A[a1 + j] * kj;
      s2 += A[a2 + j] * kj;
      s3 += A[a3 + j] * kj;
    }
    out[i] = s0; out[i + 1] = s1; out[i + 2] = s2; out[i + 3] = s3;
  }
  for (; i < rows; i++) out[i] = dot(k, A, i * n);
  return out;
}

/**
 * A k_q for q vectors at once, each of n numbers, one after the other in `K` and in `out`.
 * A is read once for every four vectors and not once for each, which is what large matrices wait for.
 */
export function matrixTimesMany(A, K, n, count, out) {
  let q = 0;
  for (; q + 3 < count; q += 4) {
    const k0 = q * n, k1 = k0 + n, k2 = k1 + n, k3 = k2 + n;
    let i = 0;
    for (; i + 1 < n; i += 2) {
      const a = i * n, b = a + n;
      let s0 = 0, s1 = 0, s2 = 0, s3 = 0, u0 = 0, u1 = 0, u2 = 0, u3 = 0;
      for (let j = 0; j < n; j++) {
        const x = A[a + j], y = A[b + j], c0 = K[k0 + j], c1 = K[k1 + j], c2 = K[k2 + j], c3 = K[k3 + j];
        s0 += x * c0; s1 += x * c1; s2 += x * c2; s3 += x * c3;
        u0 += y * c0; u1 += y * c1; u2 += y * c2; u3 += y * c3;
      }
      out[k0 + i] = s0; out[k1 + i] = s1; out[k2 + i] = s2; out[k3 + i] = s3;
      out[k0 + i + 1] = u0; out[k1 + i + 1] = u1; out[k2 + i + 1] = u2; out[k3 + i + 1] = u3;
    }
    for (; i < n; i++) {
      for (const k of [k0, k1, k2, k3]) out[k + i] = dot(K.subarray(k, k + n), A, i * n);
    }
  }
  for (; q < count; q++) matrixTimes(A, K.subarray(q * n, (q + 1) * n), out.subarray(q * n, (q + 1) * n));
  return out;
}
