# What stands for the reader's loop of Bayesian optimisation.
import torch
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.test_functions import Branin

torch.manual_seed(0)
branin = Branin(negate=True)
bounds = branin.bounds.double()
X = bounds[0] + torch.rand(12, 2).double() * (bounds[1] - bounds[0])
Y = branin(X)[:, None]
model = SingleTaskGP(X, Y)
