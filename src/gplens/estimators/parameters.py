"""The parameters that all estimators share, and the checked choices of a fit that they become."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, final, no_type_check

from jaxtyping import Float
from sklearn.utils import check_random_state
from torch import Tensor

from gplens.adapters.numbers import as_int
from gplens.columns.kind import Kind
from gplens.estimators.gp_models import KERNELS
from gplens.estimators.training.options import Training
from gplens.estimators.training.rows import PLACEMENTS, typical_distance

AUTO, CANDIDATES = "auto", ("matern52", "rbf")
"""The default of `kernel=`, and what it chooses from: rough and smooth functions, the rough one if in doubt."""


@no_type_check  # scikit-learn's constructors accept anything; `fit` checks
@dataclass(eq=False, repr=False)
class SharedParameters:
    """The parameters of all estimators. A subclass that is a dataclass too adds its own as further fields."""

    kernel: str = "auto"
    """One of "rbf", "matern32", "matern52", "rational_quadratic", or "auto": for regression by L-BFGS "matern52" or
    "rbf", whichever explains the rows better, else "matern52"."""
    _: KW_ONLY
    ard: bool = True
    """Whether each column has a lengthscale of its own."""
    inducing_points: int | None = None
    """The number of inducing points of a sparse model; None chooses it within the budget of `fit`."""
    inducing: str = "auto"
    """Initial inducing points: "kmeans", "first" for the first rows, or "auto": for regression by L-BFGS the rows that
    the other rows explain least, else k-means."""
    scaling: str = "columns"
    """How training scales the inputs: "columns" standardises each column, "table" scales all by one number, "none"
    leaves them. The fitted model and all results are in the units of the table in any case."""
    columns: Mapping[str, Kind] | None = None
    """Kinds of columns, such as {"hour": gplens.columns.Cyclic(24)}; the kinds of other columns follow from their
    entries."""
    training: Training | None = None
    """None fits by L-BFGS; Training(...) trains a sparse model by minibatches."""
    random_state: Any = None
    """The seed of a sparse model."""
    progress: bool = True
    """Whether a progress bar is shown if standard error is a terminal."""


@final
@dataclass(frozen=True)
class Design:
    """The choices behind a fit, checked."""

    kernel: str
    ard: bool
    inducing_points: int | None
    inducing: str
    shared: bool
    """Whether latent functions share kernel and inducing points."""
    training: Training | None
    seed: int
    kernels: tuple[str, ...]
    """Candidates for the kernel, of which regression by L-BFGS takes the one that explains the rows best."""
    sharing: tuple[tuple[int, ...], ...] = ()
    """Inputs of the model, in sets that share a lengthscale."""

    @staticmethod
    def of(parameters: SharedParameters, sharing: tuple[tuple[int, ...], ...] = (), *, shared: bool = True) -> "Design":
        """The design for the parameters of an estimator."""
        kernel, inducing = parameters.kernel, parameters.inducing
        if not isinstance(kernel, str) or kernel not in (AUTO, *KERNELS):
            raise ValueError(
                f"kernel must be one of {[AUTO, *sorted(KERNELS)]}, got kernel={kernel!r}. A model with another kernel "
                "is fitted with GPyTorch, BoTorch or scikit-learn and passed to gplens.explain."
            )
        if not isinstance(inducing, str) or inducing not in PLACEMENTS:
            raise ValueError(f"inducing must be one of {sorted(PLACEMENTS)}, got inducing={inducing!r}.")
        points = None if parameters.inducing_points is None else as_int(parameters.inducing_points)
        if parameters.inducing_points is not None and (points is None or points < 1):
            raise ValueError(
                "inducing_points must be a whole number of 1 or more, or None, got "
                f"inducing_points={parameters.inducing_points!r}."
            )
        training = parameters.training
        if training is not None and not isinstance(training, Training):
            raise TypeError(f"expected training=gplens.estimators.Training(...) or None, got training={training!r}.")
        seed = int(check_random_state(parameters.random_state).randint(2**31 - 1))
        kernels = CANDIDATES if kernel == AUTO else (kernel,)
        return Design(kernels[0], parameters.ard, points, inducing, shared, training, seed, kernels, sharing)

    def typical(self, X: Float[Tensor, "n d"]) -> float:
        """The typical distance of rows, the initial lengthscale."""
        return typical_distance(X, self.seed)
