# The files that the page adds, as if they stood where it says.
# %% 2
import sys
from pathlib import Path

import gplens

sys.path.insert(0, str(Path(gplens.__file__).parents[2] / "tests"))
from conformance.kernel_formulas import FEATURES, Pair, uniform

sys.path.pop(0)
# %% end
kernel, formula = normalised_dot(torch.Generator().manual_seed(0))
one, other = torch.rand(2, FEATURES).double()
assert torch.allclose(kernel(one[None], other[None]).squeeze(), formula(one, other))

NormalisedDot.section, NormalisedDot.along_diagonal = section, along_diagonal
X = torch.randn(8, FEATURES, generator=torch.Generator().manual_seed(1)).double()
closed, by_autograd = (
    gplens.explain(gplens.Posterior.exact(k, X, X.sum(1), noise=0.1), X, baseline=X[:1], likelihood=gplens.links.Exp())
    for k in (kernel, gplens.kernels.Autograd(kernel, kernel.diagonal))
)
assert closed.provenance.gradients == "closed form"
assert torch.allclose(closed.values, by_autograd.values, rtol=1e-9, atol=1e-9)
