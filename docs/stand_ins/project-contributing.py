# The files that CONTRIBUTING adds as examples, as if they stood where it says.
# %% 2
import sys
from pathlib import Path
from types import ModuleType

import gplens

sys.path.insert(0, str(Path(gplens.__file__).parents[2] / "tests"))
from conformance.kernel_formulas import FEATURES, Pair, uniform

# %% 4
import numpy as np

# %% 6
from gplens.adapters.hosts import HOSTS, Host

sys.modules["tinyhost"] = ModuleType("tinyhost")
sys.modules["tinyhost"].TinyGP = TinyGP
TinyGP.__module__ = "tinyhost"
HOSTS["tinyhost"] = Host("gplens.adapters", "tinyhost", (1, 0), (2, 0))
# %% end
kernel, formula = normalised_dot(torch.Generator().manual_seed(0))
one, other = torch.rand(2, FEATURES).double()
assert torch.allclose(kernel(one[None], other[None]).squeeze(), formula(one, other))
for check in EVERY_CHECK:
    check(EVERY_MODEL[0])
test_a_model_that_has_changed_since_it_was_read_is_refused()
del HOSTS["tinyhost"], sys.modules["tinyhost"]
sys.path.pop(0)
