"""Latent functions: posteriors, stacks and mixes of them, transformed inputs, and plain functions (MATH 1)."""
