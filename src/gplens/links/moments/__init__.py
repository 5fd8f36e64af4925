"""Numerical helpers of links: checks, derivatives, quadrature rules and series (MATH 2, 5)."""
