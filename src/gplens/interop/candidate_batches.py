"""Several candidates that were suggested together, explained one after the other (MATH 11.10)."""

from collections.abc import Sequence
from typing import Any

from gplens.adapters.tables import read_table
from gplens.explain import explain
from gplens.explanation.result import Explanation


def explain_batch(
    acquisition: Any,
    candidates: Any,
    *,
    baseline: Any,
    tolerance: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> tuple[Explanation, ...]:
    """Why each of q candidates was suggested, given the ones before it: an Explanation for each.

    Candidate i is explained with the candidates before it as pending points, which is how BoTorch's
    `optimize_acqf(..., sequential=True)` chooses it:  a(x_i, x_1, ..., x_(i-1)) - a(x_0, x_1, ..., x_(i-1))  (11.10).
    From the second candidate on a is no function of the posterior at x_i alone, and its gradients come from autograd.

    Args:
        acquisition: an acquisition function of BoTorch with `set_X_pending`, which analytic ones refuse. Candidates
            join the pending points that it has, in a copy: the acquisition function itself is not changed.
        candidates: (q, d), in the order in which they were chosen.
        baseline, tolerance, feature_names: as for `gplens.explain`.

    Returns:
        An Explanation for each candidate, in their order.

    Raises:
        TypeError: if it is no acquisition function of BoTorch.
        ValueError: as `gplens.explain`, or for several candidates of a ProximalAcquisitionFunction.

    Example:
        >>> from botorch.acquisition import qUpperConfidenceBound
        >>> from botorch.models import SingleTaskGP
        >>> from botorch.sampling import SobolQMCNormalSampler
        >>> sampler = SobolQMCNormalSampler(torch.Size([64]), seed=0)
        >>> acquisition = qUpperConfidenceBound(SingleTaskGP(X, y[:, None]), beta=0.2, sampler=sampler)
        >>> first, second = gplens.explain_batch(acquisition, [[0.2, 0.9], [0.8, 0.7]], baseline=0.5, tolerance=1e-3)
        >>> first.channels is not None, second.channels is None
        (True, True)
    """
    if not hasattr(acquisition, "set_X_pending"):
        raise TypeError(
            f"expected an acquisition function of BoTorch, got {type(acquisition).__name__}; pass a model to "
            "gplens.explain, which explains all rows of X."
        )
    from gplens.adapters.botorch.pending_points import with_pending

    table = read_table(candidates, "candidates")
    names, x = table.feature_names(feature_names, None), table.values
    options: dict[str, Any] = {"baseline": baseline, "tolerance": tolerance, "feature_names": names}
    return tuple(explain(with_pending(acquisition, x[:i]), x[i : i + 1], **options) for i in range(len(x)))
