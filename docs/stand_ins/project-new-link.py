# What the oracles of the page import, and a check of E f^3.
# %% 2
import numpy as np

# %% end
m, v = torch.tensor([0.5]).double(), torch.tensor([2.0]).double()
assert torch.allclose(Cube().moments(m, v).value, m**3 + 3 * m * v)
