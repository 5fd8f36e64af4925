"""Adapters: from tables and models of host libraries to tensors and processes. Only they look at types."""
