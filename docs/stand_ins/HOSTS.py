# %% 7
# What stands for a model of GPflow: the arrays that the block reads.
from types import SimpleNamespace as Namespace

import numpy as np

random = np.random.default_rng(0)
X, Z = random.normal(size=(4, 2)), random.normal(size=(5, 2))
model = Namespace(
    kernel=Namespace(lengthscales=np.array([0.8, 1.5]), variance=np.array(1.7)),
    inducing_variable=Namespace(Z=Z),
    q_mu=random.normal(size=(5, 1)),
    q_sqrt=0.3 * np.tril(random.normal(size=(5, 5)))[None],
)
# %% 8
# What stands for a posterior of GPJax.
D = Namespace(X=random.normal(size=(9, 2)), y=random.normal(size=(9, 1)))
posterior = Namespace(
    prior=Namespace(
        kernel=Namespace(lengthscale=Namespace(value=np.array([0.8, 1.5])), variance=Namespace(value=1.7)),
        mean_function=Namespace(constant=Namespace(value=np.array([0.4]))),
    ),
    likelihood=Namespace(obs_stddev=Namespace(value=0.3)),
    jitter=1e-6,
)
