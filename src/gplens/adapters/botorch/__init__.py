"""BoTorch: exact, variational and fully Bayesian models, lists of them, in raw inputs and raw outcomes."""

from botorch.models.model import Model, ModelList
from jaxtyping import Float
from torch import Tensor

from gplens.adapters.botorch.copies import double_copy
from gplens.adapters.botorch.kernels import register
from gplens.adapters.botorch.models import check_points, read_parts
from gplens.adapters.botorch.part import likelihood_of
from gplens.adapters.botorch.printed import check_list
from gplens.adapters.gpytorch.memory import remembered
from gplens.adapters.gpytorch.reading import Reading
from gplens.adapters.reading import Adapted, adapt
from gplens.expectations.hyperparameters import over_hyperparameters
from gplens.processes.stack import Stack

FAMILY = Model
"""All of BoTorch's models, many of which inherit from GPyTorch's ExactGP first, are read here."""
register()


@adapt.register
def _(model: Model, points: Float[Tensor, "k d"]) -> Adapted:
    check_points(model, points)
    return remembered(model, lambda: _read(model, points)).at(points)


def _read(model: Model, points: Float[Tensor, "k d"]) -> Reading:
    """All parts side by side, each checked on its own, and a list as a whole."""
    parts = read_parts(model, points)
    process = parts[0].process if len(parts) == 1 else Stack(tuple(part.process for part in parts))
    draws = sum((part.draws for part in parts), ())
    likelihood, copy = likelihood_of(parts), double_copy(model) if isinstance(model, ModelList) else None
    response = over_hyperparameters(likelihood.response, draws)
    adapted = Adapted(
        process,
        type(model).__name__,
        likelihood,
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
        conjugate=all(part.conjugate for part in parts),
        draws=None if all(count == 1 for count in draws) else draws,
    )

    def checks(points: Float[Tensor, "k d"]) -> tuple[str, ...]:
        found = dict.fromkeys(note for part in parts for note in part.check(points))
        if copy is not None:
            check_list(copy, process, response, points)
        return tuple(found)

    return Reading(adapted, checks)
