"""MultiTaskGP: inputs with a column of task numbers, which belongs to the kernel as a name does."""

from typing import Any

from jaxtyping import Float
from torch import Tensor

from gplens.adapters.gpytorch.kernels import translate
from gplens.adapters.gpytorch.prior import AGREEMENT, Prior
from gplens.adapters.reading import compare
from gplens.kernels import Kernel
from gplens.means import AutogradMean


def read_task_prior(model: Any, index: int, points: Float[Tensor, "k d"]) -> Prior:
    """The product of the kernels of inputs and tasks, and a mean for each task."""
    if model._task_mapper is not None:
        got = sorted(model._expected_task_values)
        raise ValueError(f"The tasks have the values {got}; wanted were 0, 1, 2, ... Number them, and fit again.")
    kernel: Kernel = translate(model.covar_module, index, points.shape[1])
    host = model.forward(points).covariance_matrix
    hint = "A subclass may have changed forward()."
    compare("kernel of inputs and tasks", kernel(points, points), host, AGREEMENT * host.abs().max(), hint)

    def mean(X: Float[Tensor, "b d"]) -> Float[Tensor, " b"]:
        return model.forward(X).mean

    return Prior(kernel, AutogradMean(mean), ())


def check_tasks(model: Any, points: Float[Tensor, "k d"]) -> None:
    """Refuse inputs without a task, and tasks that the model does not know."""
    column, wanted = model._task_feature, model.num_non_task_features + 1
    if points.shape[1] == wanted - 1:
        raise ValueError(
            f"X has {points.shape[1]} columns; the {type(model).__name__} was fitted on {wanted}, of which column "
            f"{column} is the task. Its tasks are correlated: explain one at a time, with X and baseline that have the "
            "column of the task."
        )
    tasks, known = points[:, min(column, points.shape[1] - 1)].unique().tolist(), sorted(model._expected_task_values)
    unknown = [task for task in tasks if int(task) not in known]
    if unknown:
        raise ValueError(
            f"Column {column}, the task, has {unknown} in X, the baseline or between; the model knows {known}."
        )
