"""The latent function: posteriors, side by side, mixed, of transformed inputs, and of plain functions (MATH 1)."""
