# What stands for the reader's model.
import torch

import gplens

X = torch.linspace(-2, 2, 20).double().reshape(10, 2)
model = gplens.Posterior.exact(gplens.kernels.RBF(torch.ones(2)), X, X.sum(1).sin(), noise=0.1)
likelihood, batches, baseline = gplens.links.Exp(), [X[:2], X[2:4]], 0.0
