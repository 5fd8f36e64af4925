"""One call of `gplens.explain`, step by step: what was given, the model, the question, the work, the explanation."""
