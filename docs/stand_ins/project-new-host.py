# The files that the page adds, as if they stood where it says.
# %% 2
import sys
from pathlib import Path
from types import ModuleType

import gplens

sys.path.insert(0, str(Path(gplens.__file__).parents[2] / "tests"))
from gplens.adapters.hosts import HOSTS, Library

sys.modules["tinyhost"] = ModuleType("tinyhost")
sys.modules["tinyhost"].TinyGP = TinyGP
TinyGP.__module__ = "tinyhost"
HOSTS["tinyhost"] = Library("gplens.adapters", "tinyhost", (1, 0), (2, 0))
# %% end
for check in EVERY_CHECK:
    check(EVERY_MODEL[0])
test_a_model_that_has_changed_since_it_was_read_is_refused()
del HOSTS["tinyhost"], sys.modules["tinyhost"]
sys.path.pop(0)
