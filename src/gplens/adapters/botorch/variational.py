"""SingleTaskVariationalGP: a GPyTorch ApproximateGP with transforms around it."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.outcomes import Outcome
from gplens.adapters.botorch.units import rescaled
from gplens.adapters.gpytorch.variational import read_variational
from gplens.processes.posterior import Posterior
from gplens.processes.process import Process
from gplens.processes.stack import Stack
from gplens.processes.transformed import AffineMap, Transformed


def read_sparse(
    model: Any, inputs: AffineMap | None, outcome: Outcome, points: Float[Tensor, "k d"]
) -> tuple[Process, tuple[str, ...]]:
    """Latent functions of raw inputs, in the units of the Gaussian outcome."""
    if inputs is None:
        raise ValueError(
            "A variational model keeps inducing points as its input transform leaves them, and Log10 and Warp cannot "
            "be taken back from there. Fit the model on inputs that were transformed before, and explain it in those."
        )
    process, notes = read_variational(model.model, inputs(points))
    alone = [process.select((i,)) for i in range(process.latents)]
    pairs = zip(alone, outcome.scale, outcome.shift, strict=True)
    parts = tuple(_rescaled(part, scale, shift) for part, scale, shift in pairs)
    return Transformed(parts[0] if len(parts) == 1 else Stack(parts), *inputs), notes


def _rescaled(part: Process, scale: Tensor, shift: Tensor) -> Posterior:
    if not isinstance(part, Posterior):
        raise ValueError(
            f"The variational model mixes its latent functions ({type(part).__name__}); wanted was one for each "
            "output. Explain the GPyTorch model inside, in its own inputs and units: gplens.explain(model.model, ...)."
        )
    return rescaled(part, scale, shift)
