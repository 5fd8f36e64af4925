"""Adapters: the only place that looks at types. Tables and host libraries come in, tensors and processes go out."""
