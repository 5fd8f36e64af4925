"""The axes that tensors carry in their types, with fixed letters.

b inputs (rows), n support points, d features, q path nodes, c latent functions, o explained outputs,
p channels of weights, r terms of a quadratic form.
"""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor

Batch = Float[Tensor, "*batch"]
"""Any shape; every tensor of one call has the same."""
New = Callable[[Tensor], Tensor]
"""Makes an uninitialised tensor like the given one, as `torch.empty_like` does."""
