"""Integrals of gradients along paths: quadrature rules, adaptive refinement, blocks of rows (MATH 4)."""
