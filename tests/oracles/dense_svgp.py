"""m and v of a whitened sparse GP with an RBF kernel in 40 digits: the table of MATH 1, read literally."""

import mpmath as mp
from torch import Tensor

DIGITS = 40


def marginal(
    x: Tensor, Z: Tensor, *, lengthscale: float, scale: float, mean: float, a: Tensor, B: Tensor, jitter: float
) -> tuple[float, float]:
    """m = mu + k L^-T a,  v = k(x,x) + jitter - k L^-T (I - B) L^-1 k,  LL' = K + jitter I."""
    with mp.workdps(DIGITS):
        points = [[mp.mpf(value) for value in row] for row in Z.tolist()]
        point = [mp.mpf(value) for value in x.tolist()]
        n = len(points)

        def k(p: list[mp.mpf], q: list[mp.mpf]) -> mp.mpf:
            r2 = mp.fsum((s - t) ** 2 for s, t in zip(p, q, strict=True)) / mp.mpf(lengthscale) ** 2
            return mp.mpf(scale) * mp.exp(-r2 / 2)

        K = mp.matrix(n, n)
        for i in range(n):
            for j in range(n):
                K[i, j] = k(points[i], points[j]) + (mp.mpf(jitter) if i == j else 0)
        w = mp.lu_solve(mp.cholesky(K), mp.matrix([k(point, p) for p in points]))
        middle = mp.eye(n) - mp.matrix(B.tolist())
        m = mp.mpf(mean) + mp.fdot(w, mp.matrix(a.tolist()))
        v = mp.mpf(scale) + mp.mpf(jitter) - mp.fdot(w, middle * w)
        return float(m), float(v)
