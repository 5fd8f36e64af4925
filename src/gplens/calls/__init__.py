"""The steps of a call of `gplens.explain`: read the arguments and the model, bind the target, integrate, assemble."""
