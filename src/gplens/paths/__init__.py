"""Paths: quadrature rules, adaptive refinement, and the integral of a gradient along a line (MATH 4)."""
