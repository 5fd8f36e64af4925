# What stands for the reader's model of ten classes, and for the tables.
import gpytorch
import numpy as np
import pandas
import torch

import gplens
from gplens.estimators.gp_models import Sparse, kernel_of

random = np.random.default_rng(0)
X_train = pandas.DataFrame(random.normal(size=(40, 3)), columns=["hour_sin", "hour_cos", "temperature"])
X = X_train[:5]
torch.manual_seed(0)
Z, kernel = torch.randn(6, 3).double(), kernel_of("rbf", 3, None)
model = Sparse(Z, kernel, gpytorch.means.ZeroMean(), latents=10, jitter=1e-6).double().eval().requires_grad_(False)
model.q.variational_mean.copy_(torch.randn(10, 6))
likelihood = gpytorch.likelihoods.SoftmaxLikelihood(num_classes=10, mixing_weights=False)
# %% 2
batches, baseline = [X_train[:2], X_train[2:4]], 0.0
# %% 3
frame, counts = X_train, random.poisson(2.0, size=40)
