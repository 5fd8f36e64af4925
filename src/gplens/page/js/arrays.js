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
