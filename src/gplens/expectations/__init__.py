"""What is explained, T(x) = psi(m(x), v(x)), with its partial derivatives (MATH 2, 3)."""
