"""How models are fitted: the bound and its optimiser for sparse models, the evidence for exact ones."""
