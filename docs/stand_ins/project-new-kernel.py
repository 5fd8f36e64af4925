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
